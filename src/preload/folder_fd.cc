#include "preload/folder_fd.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "preload/next.h"
#include "preload/offered.h"

namespace nerve::preload {
namespace {

constexpr size_t kLongestPath = 256;  // of a directory in the tree; device names are short
constexpr size_t kMostFolders = 64;   // the oldest entry is reused

struct Opened {
  dev_t device;
  ino_t inode;
  char path[kLongestPath];
};

Opened opened[kMostFolders];
size_t next_opened;
std::atomic<bool> any_opened;
pthread_mutex_t opened_lock = PTHREAD_MUTEX_INITIALIZER;

}  // namespace

int open_folder(const char* path, int flags) {
  if (::strlen(path) >= kLongestPath) {
    errno = ENAMETOOLONG;
    return -1;
  }
  const unsigned on_exec = (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0;
  const int fd = ::memfd_create("nerve-folder", on_exec);
  struct stat file {};
  if (fd < 0 || next().fstat(fd, &file) != 0) return fd;
  ::pthread_mutex_lock(&opened_lock);
  Opened& entry = opened[next_opened++ % kMostFolders];
  entry.device = file.st_dev;
  entry.inode = file.st_ino;
  ::strcpy(entry.path, path);
  ::pthread_mutex_unlock(&opened_lock);
  any_opened.store(true, std::memory_order_release);
  return fd;
}

bool is_folder(const struct stat& file, char (&path)[PATH_MAX]) {
  if (!any_opened.load(std::memory_order_acquire)) return false;
  bool found = false;
  ::pthread_mutex_lock(&opened_lock);
  for (const Opened& entry : opened) {
    if (entry.inode != file.st_ino || entry.device != file.st_dev || entry.path[0] == '\0')
      continue;
    ::strcpy(path, entry.path);
    found = true;
  }
  ::pthread_mutex_unlock(&opened_lock);
  return found;
}

bool is_folder(int fd, char (&path)[PATH_MAX]) {
  if (fd < 0 || !any_opened.load(std::memory_order_acquire)) return false;
  const int saved = errno;
  struct stat file {};
  const bool found = next().fstat(fd, &file) == 0 && is_folder(file, path);
  errno = saved;
  return found;
}

const char* path_at(int fd, const char* path, int flags, char (&room)[PATH_MAX]) {
  if (may_be_ours(path)) return path;
  if (path == nullptr || path[0] == '/' || !is_folder(fd, room)) return nullptr;
  if (path[0] == '\0') return (flags & AT_EMPTY_PATH) != 0 ? room : nullptr;
  const size_t used = ::strlen(room);
  const size_t length = ::strlen(path);
  if (used + 1 + length >= sizeof room) return nullptr;
  room[used] = '/';
  ::memcpy(room + used + 1, path, length + 1);
  return room;
}

}  // namespace nerve::preload
