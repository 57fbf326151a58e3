#include "preload/rdma_cm.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "preload/next.h"
#include "rdmacm/door.h"

namespace nerve::preload {
namespace {

using rdmacm::Door;

constexpr int kMostDescriptors = 1 << 16;
constexpr int kPerWord = 64;

// A bit per descriptor that is ours, checked in every write() of the program.
std::atomic<unsigned long> marks[kMostDescriptors / kPerWord];

unsigned long bit_of(int fd) { return 1UL << (fd % kPerWord); }

const Door* door() {
  static std::atomic<const Door*> known;
  const Door* found = known.load(std::memory_order_acquire);
  if (found == nullptr) {
    auto* const call = reinterpret_cast<rdmacm::DoorCall*>(find_in_verbs(rdmacm::kDoorCall));
    found = call != nullptr ? call() : nullptr;
    known.store(found, std::memory_order_release);
  }
  return found;
}

// Applies the program's flags to the descriptor, which was created with defaults.
bool apply(int fd, int flags) {
  if ((flags & O_CLOEXEC) == 0 && ::fcntl(fd, F_SETFD, 0) != 0) return false;
  return (flags & O_NONBLOCK) == 0 || ::fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0;
}

}  // namespace

bool is_rdma_cm(const char* path) { return ::strcmp(path, kRdmaCm) == 0; }

bool is_rdma_cm(int fd) {
  if (fd < 0 || fd >= kMostDescriptors) return false;
  return (marks[fd / kPerWord].load(std::memory_order_relaxed) & bit_of(fd)) != 0;
}

int open_rdma_cm(int flags) {
  const Door* const device = door();
  if (device == nullptr) {
    errno = ENOENT;
    return -1;
  }
  const int fd = device->open();
  if (fd < 0) return -1;
  if (fd >= kMostDescriptors || !apply(fd, flags)) {
    device->close(fd);
    errno = EMFILE;
    return -1;
  }
  marks[fd / kPerWord].fetch_or(bit_of(fd), std::memory_order_relaxed);
  return fd;
}

}  // namespace nerve::preload

using namespace nerve::preload;

NERVE_EXPORT ssize_t write(int fd, const void* bytes, size_t size) {
  if (is_rdma_cm(fd)) [[unlikely]]
    return door()->write(fd, bytes, size);
  return next().write(fd, bytes, size);
}

NERVE_EXPORT int close(int fd) {
  if (!is_rdma_cm(fd)) return next().close(fd);
  door()->prepare_close(fd);
  marks[fd / kPerWord].fetch_and(~bit_of(fd), std::memory_order_relaxed);
  door()->close(fd);
  return 0;
}
