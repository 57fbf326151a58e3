// The fields of a message between ranks: big-endian numbers and text, written in order and read in
// the same order. A reader of a message that is too short returns zeros and remembers that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace nerve::ai {

class MessageWriter {
 public:
  MessageWriter& number(std::uint64_t value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + 8);
    store_be<8>(bytes_, at, value);
    return *this;
  }
  MessageWriter& text(const std::string& value) {
    number(value.size());
    for (const char c : value) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] std::string as_text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  std::vector<std::byte> bytes_;
};

class MessageReader {
 public:
  explicit MessageReader(Bytes bytes) : bytes_{bytes} {}
  explicit MessageReader(const std::string& bytes)
      : bytes_{reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()} {}

  std::uint64_t number() {
    if (bytes_.size() < 8) {
      short_ = true;
      bytes_ = {};
      return 0;
    }
    const std::uint64_t value = load_be<8>(bytes_, 0);
    bytes_ = bytes_.subspan(8);
    return value;
  }
  std::string text() {
    const std::uint64_t length = number();
    if (length > bytes_.size()) {
      short_ = true;
      return {};
    }
    std::string value{reinterpret_cast<const char*>(bytes_.data()), length};
    bytes_ = bytes_.subspan(length);
    return value;
  }
  // Whether every field was there and nothing is left over.
  [[nodiscard]] bool complete() const { return !short_ && bytes_.empty(); }

 private:
  Bytes bytes_;
  bool short_{};
};

}  // namespace nerve::ai
