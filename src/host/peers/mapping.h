// Memory that is shared with another process, mapped here.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <utility>

#include "base/octets.h"
#include "link/descriptor.h"

namespace nerve::host {

using link::Descriptor;

class Mapping {
 public:
  Mapping() = default;
  // Empty when the kernel refuses.
  Mapping(int fd, std::size_t size, int protection) {
    void* at = ::mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) octets_ = {static_cast<std::byte*>(at), size};
  }
  Mapping(Mapping&& other) noexcept : octets_{std::exchange(other.octets_, {})} {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(octets_, other.octets_);
    return *this;
  }
  ~Mapping() {
    if (!octets_.empty()) ::munmap(octets_.data(), octets_.size());
  }
  [[nodiscard]] MutableOctets octets() const { return octets_; }
  explicit operator bool() const { return !octets_.empty(); }

 private:
  MutableOctets octets_{};
};

}  // namespace nerve::host
