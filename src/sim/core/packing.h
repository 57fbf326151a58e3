// Values as bytes, for another process of the same build on a machine of the same kind (ranks.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nerve::sim {

using Packed = std::vector<std::byte>;

class Packer {
 public:
  explicit Packer(Packed& into) : into_{into} {}

  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof value);
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(static_cast<std::uint64_t>(values.size()));
    append(values.data(), values.size() * sizeof(T));
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    append(text.data(), text.size());
  }

 private:
  void append(const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const std::size_t before = into_.size();
    into_.resize(before + bytes);
    std::memcpy(into_.data() + before, from, bytes);
  }

  Packed& into_;
};

// Reads what a Packer wrote. After a read beyond the end, and after a length that cannot be right,
// everything is zero or empty, and intact() is false.
class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> from) : left_{from} {}

  [[nodiscard]] bool intact() const { return intact_; }
  [[nodiscard]] bool at_end() const { return left_.empty(); }

  template <class T>
  [[nodiscard]] T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    copy(&value, sizeof value);
    return value;
  }
  template <class T>
  void take_all(std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    values.resize(count(sizeof(T)));
    copy(values.data(), values.size() * sizeof(T));
  }
  [[nodiscard]] std::string take_text() {
    std::string text(count(1), ' ');
    copy(text.data(), text.size());
    return text;
  }

 private:
  // The number of values that follow, if there are so many bytes.
  [[nodiscard]] std::size_t count(std::size_t bytes_each) {
    const auto count = take<std::uint64_t>();
    if (count > left_.size() / bytes_each) intact_ = false;
    return intact_ ? static_cast<std::size_t>(count) : 0;
  }
  void copy(void* to, std::size_t bytes) {
    if (bytes > left_.size()) intact_ = false;
    if (!intact_ || bytes == 0) return;
    std::memcpy(to, left_.data(), bytes);
    left_ = left_.subspan(bytes);
  }

  std::span<const std::byte> left_;
  bool intact_{true};
};

}  // namespace nerve::sim
