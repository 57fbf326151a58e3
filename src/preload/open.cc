// open() and fopen() for offered paths. A file is a memfd with its contents; a device is /dev/null,
// which any user may open for reading and writing; targets of links outside our tree are opened
// there.
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "preload/folder_fd.h"
#include "preload/next.h"
#include "preload/offered.h"
#include "preload/rdma_cm.h"

namespace nerve::preload {
namespace {

using sysfs::OfferedKind;
using sysfs::OfferedNode;

bool writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }

int open_file(const OfferedNode& node, int flags) {
  const unsigned on_exec = (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0;
  const int fd = ::memfd_create(name_of(node.path), on_exec);
  if (fd < 0) return -1;
  // A short write to a memfd of a few bytes means that there is no memory.
  if (::pwrite(fd, node.text, node.length, 0) == static_cast<ssize_t>(node.length)) return fd;
  ::close(fd);
  return refuse(ENOMEM);
}

int open_offered(const char* path, int flags, mode_t mode) {
  if (is_rdma_cm(path)) return open_rdma_cm(flags);
  const Found found{path, (flags & O_NOFOLLOW) != 0 ? Links::kStop : Links::kFollow};
  if (found.error() != 0) return refuse(found.error());
  if (found.is_elsewhere()) return next().open(found.elsewhere(), flags, mode);
  const OfferedNode& node = *found.node();
  if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return refuse(EEXIST);
  if ((flags & O_DIRECTORY) != 0 && node.kind != OfferedKind::kFolder) return refuse(ENOTDIR);
  switch (node.kind) {
    case OfferedKind::kFolder:
      return writes(flags) ? refuse(EISDIR) : open_folder(found.path(), flags);
    case OfferedKind::kFile:
      return writes(flags) ? refuse(EACCES) : open_file(node, flags);
    case OfferedKind::kLink:
      return refuse(ELOOP);
    case OfferedKind::kCharDevice:
      return next().open("/dev/null", flags & ~(O_CREAT | O_TRUNC | O_NOFOLLOW), mode);
  }
  return refuse(ENOENT);
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  char room[PATH_MAX];
  const char* const offered = path_at(folder, path, 0, room);
  if (offered != nullptr) return open_offered(offered, flags, mode);
  return next().openat(folder, path, flags, mode);
}

// The flags that fopen() would use. Unknown characters are left to fdopen() to refuse.
int flags_of(const char* mode) {
  int flags = O_RDONLY;
  if (mode[0] == 'w') flags = O_WRONLY | O_CREAT | O_TRUNC;
  if (mode[0] == 'a') flags = O_WRONLY | O_CREAT | O_APPEND;
  for (const char* at = mode + 1; mode[0] != '\0' && *at != '\0' && *at != ','; ++at) {
    if (*at == '+') flags = (flags & ~O_ACCMODE) | O_RDWR;
    if (*at == 'e') flags |= O_CLOEXEC;
  }
  return flags;
}

FILE* fopen_offered(const char* path, const char* mode) {
  const int fd = open_offered(path, flags_of(mode), 0666);
  if (fd < 0) return nullptr;
  FILE* const file = ::fdopen(fd, mode);
  if (file == nullptr) ::close(fd);
  return file;
}

}  // namespace
}  // namespace nerve::preload

using namespace nerve::preload;

// The third argument exists only if the call may create a file.
#define NERVE_MODE(flags)                         \
  mode_t mode = 0;                                \
  if (((flags) & (O_CREAT | __O_TMPFILE)) != 0) { \
    va_list arguments;                            \
    va_start(arguments, flags);                   \
    mode = va_arg(arguments, mode_t);             \
    va_end(arguments);                            \
  }

NERVE_EXPORT int open(const char* path, int flags, ...) {
  NERVE_MODE(flags)
  if (may_be_ours(path)) [[unlikely]]
    return open_offered(path, flags, mode);
  return next().open(path, flags, mode);
}

NERVE_EXPORT int open64(const char* path, int flags, ...) {
  NERVE_MODE(flags)
  if (may_be_ours(path)) [[unlikely]]
    return open_offered(path, flags, mode);
  return next().open(path, flags | O_LARGEFILE, mode);
}

NERVE_EXPORT int openat(int folder, const char* path, int flags, ...) {
  NERVE_MODE(flags)
  return open_at(folder, path, flags, mode);
}

NERVE_EXPORT int openat64(int folder, const char* path, int flags, ...) {
  NERVE_MODE(flags)
  return open_at(folder, path, flags | O_LARGEFILE, mode);
}

// Variants for programs compiled with _FORTIFY_SOURCE; they create no files.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): names of libc
NERVE_EXPORT int __open_2(const char* path, int flags) { return open(path, flags & ~O_CREAT); }
NERVE_EXPORT int __open64_2(const char* path, int flags) { return open64(path, flags & ~O_CREAT); }
NERVE_EXPORT int __openat_2(int folder, const char* path, int flags) {
  return openat(folder, path, flags & ~O_CREAT);
}
NERVE_EXPORT int __openat64_2(int folder, const char* path, int flags) {
  return openat64(folder, path, flags & ~O_CREAT);
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

NERVE_EXPORT FILE* fopen(const char* path, const char* mode) {
  if (may_be_ours(path)) [[unlikely]]
    return fopen_offered(path, mode);
  return next().fopen(path, mode);
}

NERVE_EXPORT FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }
