// opendir() and related calls for the directories that we offer. Our streams are recognised by
// their address, so libc's streams cost one comparison.
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "preload/folder_fd.h"
#include "preload/next.h"
#include "preload/offered.h"

namespace nerve::preload {
namespace {

using sysfs::OfferedKind;
using sysfs::OfferedNode;

struct Stream {
  std::atomic<bool> used;
  int fd;
  size_t count;
  size_t at;
  dirent* entries;
};

Stream streams[32];  // open at once

Stream* ours(DIR* folder) {
  const char* const at = reinterpret_cast<const char*>(folder);
  const char* const begin = reinterpret_cast<const char*>(streams);
  const bool inside = at >= begin && at < begin + sizeof streams;
  return inside ? reinterpret_cast<Stream*>(folder) : nullptr;
}

unsigned char type_of(OfferedKind kind) {
  switch (kind) {
    case OfferedKind::kFolder:
      return DT_DIR;
    case OfferedKind::kFile:
      return DT_REG;
    case OfferedKind::kLink:
      return DT_LNK;
    case OfferedKind::kCharDevice:
      return DT_CHR;
  }
  return DT_UNKNOWN;
}

void add(Stream& stream, const char* name, unsigned char type) {
  dirent& entry = stream.entries[stream.count++];
  ::memset(&entry, 0, sizeof entry);
  entry.d_ino = stream.count;  // zero would mean deleted
  entry.d_off = static_cast<off_t>(stream.count);
  entry.d_reclen = sizeof entry;
  entry.d_type = type;
  ::strncpy(entry.d_name, name, sizeof entry.d_name - 1);
}

bool fill(Stream& stream, const Found& found) {
  size_t count = 2;
  const OfferedNode* node = nullptr;
  while ((node = found.next_in_folder(node)) != nullptr) ++count;
  stream.entries = static_cast<dirent*>(::malloc(count * sizeof(dirent)));
  if (stream.entries == nullptr) return false;
  stream.count = stream.at = 0;
  add(stream, ".", DT_DIR);
  add(stream, "..", DT_DIR);
  while ((node = found.next_in_folder(node)) != nullptr) {
    add(stream, name_of(node->path), type_of(node->kind));
  }
  return true;
}

Stream* take_stream() {
  for (Stream& stream : streams) {
    if (!stream.used.exchange(true)) return &stream;
  }
  errno = EMFILE;
  return nullptr;
}

// Takes ownership of the descriptor on success.
DIR* open_stream(const Found& found, int fd) {
  Stream* const stream = take_stream();
  if (stream == nullptr) return nullptr;
  if (!fill(*stream, found)) {
    stream->used = false;
    return nullptr;
  }
  stream->fd = fd;
  return reinterpret_cast<DIR*>(stream);
}

DIR* refuse(int error) {
  errno = error;
  return nullptr;
}

DIR* opendir_offered(const char* path) {
  const Found found{path, Links::kFollow};
  if (found.error() != 0) return refuse(found.error());
  if (found.is_elsewhere()) return next().opendir(found.elsewhere());
  if (found.node()->kind != OfferedKind::kFolder) return refuse(ENOTDIR);
  const int fd = open_folder(found.path(), O_CLOEXEC);
  if (fd < 0) return nullptr;
  DIR* const folder = open_stream(found, fd);
  if (folder == nullptr) ::close(fd);
  return folder;
}

// Copies each entry that passes the filter, as scandir() returns them.
int scan(Stream& stream, dirent*** list, Filter* filter, Compare* compare) {
  constexpr size_t kPointer = sizeof(void*);
  auto** const found = static_cast<dirent**>(::malloc((stream.count + 1) * kPointer));
  if (found == nullptr) return -1;
  int count = 0;
  for (size_t i = 0; i < stream.count; ++i) {
    if (filter != nullptr && filter(&stream.entries[i]) == 0) continue;
    found[count] = static_cast<dirent*>(::malloc(sizeof(dirent)));
    if (found[count] == nullptr) break;
    *found[count++] = stream.entries[i];
  }
  if (compare != nullptr) {
    using Untyped = int(const void*, const void*);
    ::qsort(found, static_cast<size_t>(count), kPointer, reinterpret_cast<Untyped*>(compare));
  }
  *list = found;
  return count;
}

dirent64* same(dirent* entry) { return reinterpret_cast<dirent64*>(entry); }
static_assert(sizeof(dirent) == sizeof(dirent64));

}  // namespace
}  // namespace nerve::preload

using namespace nerve::preload;

NERVE_EXPORT DIR* opendir(const char* path) {
  if (may_be_ours(path)) [[unlikely]]
    return opendir_offered(path);
  return next().opendir(path);
}

NERVE_EXPORT DIR* fdopendir(int fd) {
  char path[PATH_MAX];
  if (!is_folder(fd, path)) return next().fdopendir(fd);
  return open_stream(Found{path, Links::kFollow}, fd);
}

NERVE_EXPORT dirent* readdir(DIR* folder) {
  Stream* const stream = ours(folder);
  if (stream == nullptr) return next().readdir(folder);
  return stream->at < stream->count ? &stream->entries[stream->at++] : nullptr;
}
NERVE_EXPORT dirent64* readdir64(DIR* folder) { return same(readdir(folder)); }

NERVE_EXPORT int readdir_r(DIR* folder, dirent* entry, dirent** result) {
  Stream* const stream = ours(folder);
  if (stream == nullptr) return next().readdir_r(folder, entry, result);
  *result = nullptr;
  if (stream->at == stream->count) return 0;
  *entry = stream->entries[stream->at++];
  *result = entry;
  return 0;
}
NERVE_EXPORT int readdir64_r(DIR* folder, dirent64* entry, dirent64** result) {
  return readdir_r(folder, reinterpret_cast<dirent*>(entry), reinterpret_cast<dirent**>(result));
}

NERVE_EXPORT int closedir(DIR* folder) {
  Stream* const stream = ours(folder);
  if (stream == nullptr) return next().closedir(folder);
  ::free(stream->entries);
  ::close(stream->fd);
  stream->used = false;
  return 0;
}

NERVE_EXPORT void rewinddir(DIR* folder) __THROW {
  Stream* const stream = ours(folder);
  if (stream == nullptr) return next().rewinddir(folder);
  stream->at = 0;
}
NERVE_EXPORT long telldir(DIR* folder) __THROW {
  const Stream* const stream = ours(folder);
  return stream != nullptr ? static_cast<long>(stream->at) : next().telldir(folder);
}
NERVE_EXPORT void seekdir(DIR* folder, long at) __THROW {
  Stream* const stream = ours(folder);
  if (stream == nullptr) return next().seekdir(folder, at);
  const auto wanted = static_cast<size_t>(at);
  stream->at = wanted < stream->count ? wanted : stream->count;
}
NERVE_EXPORT int dirfd(DIR* folder) __THROW {
  const Stream* const stream = ours(folder);
  return stream != nullptr ? stream->fd : next().dirfd(folder);
}

NERVE_EXPORT int scandir(const char* path, dirent*** list, Filter* filter, Compare* compare) {
  if (!may_be_ours(path)) return next().scandir(path, list, filter, compare);
  DIR* const folder = opendir_offered(path);
  if (folder == nullptr) return -1;
  Stream* const stream = ours(folder);
  if (stream == nullptr) {  // a link led elsewhere
    const Found found{path, Links::kFollow};
    next().closedir(folder);
    return next().scandir(found.elsewhere(), list, filter, compare);
  }
  const int count = scan(*stream, list, filter, compare);
  closedir(folder);
  return count;
}
NERVE_EXPORT int scandir64(const char* path, dirent64*** list, int (*filter)(const dirent64*),
                           int (*compare)(const dirent64**, const dirent64**)) {
  return scandir(path, reinterpret_cast<dirent***>(list), reinterpret_cast<Filter*>(filter),
                 reinterpret_cast<Compare*>(compare));
}
