// A file descriptor that closes itself, and the set of all of them in this process.
//
// After fork() the child has copies of all that is open. It must close those of ours, or peers
// would not notice the parent's end; close_inherited() does, without touching the program's own.
#pragma once

#include <utility>

namespace nerve::link {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd);
  Descriptor(Descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // For somebody else to close.
  [[nodiscard]] int release();

  // In the child of a fork(), where nobody uses any of them any more.
  static void close_inherited();

 private:
  void close();

  int fd_{-1};
};

}  // namespace nerve::link
