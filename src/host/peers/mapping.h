// A mapping of memory shared with another process.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <utility>

#include "base/bytes.h"
#include "link/descriptor.h"

namespace nerve::host {

using link::Descriptor;

class Mapping {
 public:
  Mapping() = default;
  // Empty if the kernel refuses.
  Mapping(int fd, std::size_t size, int protection) {
    void* at = ::mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) bytes_ = {static_cast<std::byte*>(at), size};
  }
  Mapping(Mapping&& other) noexcept : bytes_{std::exchange(other.bytes_, {})} {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
  }
  [[nodiscard]] MutableBytes bytes() const { return bytes_; }
  // Leaves it to somebody else to unmap.
  void forget() { bytes_ = {}; }
  explicit operator bool() const { return !bytes_.empty(); }

 private:
  MutableBytes bytes_{};
};

}  // namespace nerve::host
