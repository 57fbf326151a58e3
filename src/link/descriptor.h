// An owned file descriptor, and the set of all of them in this process.
//
// After fork() the child has copies of all open descriptors. It must close ours, or peers would not
// notice when the parent exits; close_inherited() does that without touching the program's own.
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
  // Gives up ownership; the caller closes it.
  [[nodiscard]] int release();

  // For the child of a fork(), where none of them is used any more.
  static void close_inherited();

 private:
  void close();

  int fd_{-1};
};

}  // namespace nerve::link
