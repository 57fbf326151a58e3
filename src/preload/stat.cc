// stat() and access() for offered paths, in both forms of libc: the current functions, and __xstat
// for programs linked before 2.33.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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

// The same for the same path in every process (FNV-1a).
ino_t inode_of(const char* path) {
  ino_t hash = 0xcbf29ce484222325;
  for (; *path != '\0'; ++path) {
    hash = (hash ^ static_cast<unsigned char>(*path)) * 0x100000001b3;
  }
  return hash;
}

mode_t mode_of(OfferedKind kind) {
  switch (kind) {
    case OfferedKind::kFolder:
      return S_IFDIR | 0755;
    case OfferedKind::kFile:
      return S_IFREG | 0444;
    case OfferedKind::kLink:
      return S_IFLNK | 0777;
    case OfferedKind::kCharDevice:
      return S_IFCHR | 0666;
  }
  return 0;
}

struct stat describe(const OfferedNode& node) {
  constexpr off_t kSysfsSize = 4096;  // the size that sysfs reports for every file
  struct stat file {};
  file.st_ino = inode_of(node.path);
  file.st_mode = mode_of(node.kind);
  file.st_nlink = node.kind == OfferedKind::kFolder ? 2 : 1;
  file.st_blksize = kSysfsSize;
  if (node.kind == OfferedKind::kFile) file.st_size = kSysfsSize;
  if (node.kind == OfferedKind::kLink) file.st_size = static_cast<off_t>(node.length);
  if (node.kind == OfferedKind::kCharDevice) {
    file.st_rdev = ::makedev(sysfs::kOfferedMajor, node.minor_number);
  }
  return file;
}

// Fields that statx() has beyond stat() are not set, and not in the mask.
void convert(const struct stat& from, struct statx& to) {
  ::memset(&to, 0, sizeof to);
  to.stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_GID | STATX_INO |
                STATX_SIZE | STATX_BLOCKS | STATX_ATIME | STATX_MTIME | STATX_CTIME;
  to.stx_blksize = static_cast<__u32>(from.st_blksize);
  to.stx_nlink = static_cast<__u32>(from.st_nlink);
  to.stx_mode = static_cast<__u16>(from.st_mode);
  to.stx_ino = from.st_ino;
  to.stx_size = static_cast<__u64>(from.st_size);
  to.stx_rdev_major = major(from.st_rdev);
  to.stx_rdev_minor = minor(from.st_rdev);
}

Links links_of(int flags) {
  return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? Links::kStop : Links::kFollow;
}

constexpr OfferedNode kRdmaCmNode{
    .path = kRdmaCm, .text = "", .length = 0, .kind = OfferedKind::kCharDevice, .minor_number = 0};

// The device number of the kernel's own rdma_cm, if its module is loaded. librdmacm asks the kernel
// for it by netlink, and then closes a file that has another number.
void take_number_of_kernel(struct stat& file) {
  const int fd = next().open("/sys/class/misc/rdma_cm/dev", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[32]{};
  unsigned major_number = 0;
  unsigned minor_number = 0;
  if (::read(fd, text, sizeof text - 1) > 0 &&
      ::sscanf(text, "%u:%u", &major_number, &minor_number) == 2) {
    file.st_rdev = ::makedev(major_number, minor_number);
  }
  (void)next().close(fd);
}

int stat_offered(const char* path, struct stat* file, int flags) {
  if (is_rdma_cm(path)) {
    *file = describe(kRdmaCmNode);
    take_number_of_kernel(*file);
    return 0;
  }
  const Found found{path, links_of(flags)};
  if (found.error() != 0) return refuse(found.error());
  if (found.is_elsewhere()) return next().fstatat(AT_FDCWD, found.elsewhere(), file, flags);
  *file = describe(*found.node());
  return 0;
}

int access_offered(const char* path, int wanted, int flags) {
  if (is_rdma_cm(path)) return (wanted & X_OK) != 0 ? refuse(EACCES) : 0;
  const Found found{path, links_of(flags)};
  if (found.error() != 0) return refuse(found.error());
  if (found.is_elsewhere()) return next().faccessat(AT_FDCWD, found.elsewhere(), wanted, flags);
  const mode_t mode = mode_of(found.node()->kind);
  if ((wanted & R_OK) != 0 && (mode & S_IROTH) == 0) return refuse(EACCES);
  if ((wanted & W_OK) != 0 && (mode & S_IWOTH) == 0) return refuse(EACCES);
  if ((wanted & X_OK) != 0 && (mode & S_IXOTH) == 0) return refuse(EACCES);
  return 0;
}

int stat_at(int folder, const char* path, struct stat* file, int flags) {
  char room[PATH_MAX];
  const char* const offered = path_at(folder, path, flags, room);
  if (offered != nullptr) return stat_offered(offered, file, flags);
  return next().fstatat(folder, path, file, flags);
}

int stat_open(int fd, struct stat* file) {
  if (is_rdma_cm(fd)) [[unlikely]]
    return stat_offered(kRdmaCm, file, 0);
  if (next().fstat(fd, file) != 0) return -1;
  char path[PATH_MAX];
  return is_folder(*file, path) ? stat_offered(path, file, 0) : 0;
}

struct stat* same(struct stat64* file) {
  return reinterpret_cast<struct stat*>(file);
}
static_assert(sizeof(struct stat) == sizeof(struct stat64));

}  // namespace
}  // namespace nerve::preload

using namespace nerve::preload;

NERVE_EXPORT int stat(const char* path, struct stat* file) __THROW {
  if (may_be_ours(path)) [[unlikely]]
    return stat_offered(path, file, 0);
  return next().stat(path, file);
}
NERVE_EXPORT int lstat(const char* path, struct stat* file) __THROW {
  if (may_be_ours(path)) [[unlikely]]
    return stat_offered(path, file, AT_SYMLINK_NOFOLLOW);
  return next().lstat(path, file);
}
NERVE_EXPORT int fstat(int fd, struct stat* file) __THROW { return stat_open(fd, file); }
NERVE_EXPORT int fstatat(int folder, const char* path, struct stat* file, int flags) __THROW {
  return stat_at(folder, path, file, flags);
}

NERVE_EXPORT int stat64(const char* path, struct stat64* file) __THROW {
  return stat(path, same(file));
}
NERVE_EXPORT int lstat64(const char* path, struct stat64* file) __THROW {
  return lstat(path, same(file));
}
NERVE_EXPORT int fstat64(int fd, struct stat64* file) __THROW { return stat_open(fd, same(file)); }
NERVE_EXPORT int fstatat64(int folder, const char* path, struct stat64* file, int flags) __THROW {
  return stat_at(folder, path, same(file), flags);
}

// The first argument is a version, of which 64-bit machines have only one.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): names of libc
NERVE_EXPORT int __xstat(int, const char* path, struct stat* file) { return stat(path, file); }
NERVE_EXPORT int __lxstat(int, const char* path, struct stat* file) { return lstat(path, file); }
NERVE_EXPORT int __fxstat(int, int fd, struct stat* file) { return stat_open(fd, file); }
NERVE_EXPORT int __fxstatat(int, int folder, const char* path, struct stat* file, int flags) {
  return stat_at(folder, path, file, flags);
}
NERVE_EXPORT int __xstat64(int, const char* path, struct stat64* file) {
  return stat(path, same(file));
}
NERVE_EXPORT int __lxstat64(int, const char* path, struct stat64* file) {
  return lstat(path, same(file));
}
NERVE_EXPORT int __fxstat64(int, int fd, struct stat64* file) { return stat_open(fd, same(file)); }
NERVE_EXPORT int __fxstatat64(int, int folder, const char* path, struct stat64* file, int flags) {
  return stat_at(folder, path, same(file), flags);
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

NERVE_EXPORT int statx(int folder, const char* path, int flags, unsigned mask,
                       struct statx* file) __THROW {
  char room[PATH_MAX];
  const char* const offered = path_at(folder, path, flags, room);
  if (offered == nullptr) return next().statx(folder, path, flags, mask, file);
  const Found found{offered, links_of(flags)};
  if (found.error() != 0) return refuse(found.error());
  if (found.is_elsewhere()) {
    return next().statx(AT_FDCWD, found.elsewhere(), flags & ~AT_EMPTY_PATH, mask, file);
  }
  convert(describe(*found.node()), *file);
  return 0;
}

NERVE_EXPORT int access(const char* path, int wanted) __THROW {
  if (may_be_ours(path)) [[unlikely]]
    return access_offered(path, wanted, 0);
  return next().access(path, wanted);
}
NERVE_EXPORT int euidaccess(const char* path, int wanted) __THROW {
  if (may_be_ours(path)) [[unlikely]]
    return access_offered(path, wanted, AT_EACCESS);
  return next().euidaccess(path, wanted);
}
NERVE_EXPORT int eaccess(const char* path, int wanted) __THROW { return euidaccess(path, wanted); }
NERVE_EXPORT int faccessat(int folder, const char* path, int wanted, int flags) __THROW {
  char room[PATH_MAX];
  const char* const offered = path_at(folder, path, flags, room);
  if (offered != nullptr) return access_offered(offered, wanted, flags);
  return next().faccessat(folder, path, wanted, flags);
}
