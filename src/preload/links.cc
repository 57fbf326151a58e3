// readlink() and realpath() for offered paths.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>

#include "preload/folder_fd.h"
#include "preload/next.h"
#include "preload/offered.h"

namespace nerve::preload {
namespace {

using sysfs::OfferedKind;

ssize_t readlink_offered(const char* path, char* buffer, size_t size) {
  const Found found{path, Links::kStop};
  if (found.error() != 0) return refuse(found.error());
  if (found.is_elsewhere()) return next().readlink(found.elsewhere(), buffer, size);
  if (found.node()->kind != OfferedKind::kLink) return refuse(EINVAL);
  const size_t length = found.node()->length < size ? found.node()->length : size;
  ::memcpy(buffer, found.node()->text, length);
  return static_cast<ssize_t>(length);
}

char* realpath_offered(const char* path, char* buffer) {
  const Found found{path, Links::kFollow};
  if (found.error() != 0) {
    errno = found.error();
    return nullptr;
  }
  if (found.is_elsewhere()) return next().realpath(found.elsewhere(), buffer);
  return buffer != nullptr ? ::strcpy(buffer, found.path()) : ::strdup(found.path());
}

}  // namespace
}  // namespace nerve::preload

using namespace nerve::preload;

NERVE_EXPORT ssize_t readlink(const char* path, char* buffer, size_t size) __THROW {
  if (may_be_ours(path)) [[unlikely]]
    return readlink_offered(path, buffer, size);
  return next().readlink(path, buffer, size);
}
NERVE_EXPORT ssize_t readlinkat(int folder, const char* path, char* buffer, size_t size) __THROW {
  char room[PATH_MAX];
  const char* const offered = path_at(folder, path, 0, room);
  if (offered != nullptr) return readlink_offered(offered, buffer, size);
  return next().readlinkat(folder, path, buffer, size);
}
NERVE_EXPORT char* realpath(const char* path, char* buffer) __THROW {
  if (may_be_ours(path)) [[unlikely]]
    return realpath_offered(path, buffer);
  return next().realpath(path, buffer);
}
NERVE_EXPORT char* canonicalize_file_name(const char* path) __THROW {
  return realpath(path, nullptr);
}

// Variants for programs compiled with _FORTIFY_SOURCE: the last argument is the size of the buffer.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): names of libc
NERVE_EXPORT ssize_t __readlink_chk(const char* path, char* buffer, size_t size, size_t room) {
  if (size > room) ::abort();
  return readlink(path, buffer, size);
}
NERVE_EXPORT ssize_t __readlinkat_chk(int folder, const char* path, char* buffer, size_t size,
                                      size_t room) {
  if (size > room) ::abort();
  return readlinkat(folder, path, buffer, size);
}
NERVE_EXPORT char* __realpath_chk(const char* path, char* buffer, size_t room) {
  if (room < PATH_MAX) ::abort();
  return realpath(path, buffer);
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
