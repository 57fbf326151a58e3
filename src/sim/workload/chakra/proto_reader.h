// Reads the fields of a protobuf message from bytes: varints, fixed-width numbers and
// length-delimited fields. The bytes are untrusted; damage is reported with its position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace nerve::sim {

enum class ProtoType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct ProtoField {
  std::uint64_t number{};
  ProtoType type{};
  std::uint64_t value{};     // of a number
  std::string_view bytes{};  // of kBytes
  std::size_t offset{};      // of its contents, in the file
};

class ProtoReader {
 public:
  // `offset` is the position of the bytes in the file.
  explicit ProtoReader(std::string_view bytes, std::size_t offset = 0)
      : rest_{bytes}, offset_{offset} {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::size_t offset() const { return offset_; }

  // All return false if the bytes are damaged; error() says how, offset() where.
  bool read_varint(std::uint64_t& value);
  // A length, then as many bytes.
  bool read_bytes(std::string_view& bytes);
  bool read_field(ProtoField& field);
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool fail(std::string why) {
    error_ = std::move(why);
    return false;
  }
  bool read_fixed(std::size_t size, std::uint64_t& value);
  void drop(std::size_t size) {
    rest_.remove_prefix(size);
    offset_ += size;
  }

  std::string_view rest_;
  std::size_t offset_;
  std::string error_;
};

}  // namespace nerve::sim
