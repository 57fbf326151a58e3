#include "preload/next.h"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>

namespace nerve::preload {
namespace {

Next found;
std::atomic<bool> ready;

template <class Call>
void find(Call& call, const char* name) {
  call = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

// Two threads may do it at once, and write the same.
void find_all() {
  const int saved = errno;
  find(found.open, "open");
  find(found.openat, "openat");
  find(found.fopen, "fopen");
  find(found.access, "access");
  find(found.euidaccess, "euidaccess");
  find(found.faccessat, "faccessat");
  find(found.stat, "stat");
  find(found.lstat, "lstat");
  find(found.fstat, "fstat");
  find(found.fstatat, "fstatat");
  find(found.statx, "statx");
  find(found.opendir, "opendir");
  find(found.fdopendir, "fdopendir");
  find(found.readdir, "readdir");
  find(found.readdir_r, "readdir_r");
  find(found.closedir, "closedir");
  find(found.rewinddir, "rewinddir");
  find(found.telldir, "telldir");
  find(found.seekdir, "seekdir");
  find(found.dirfd, "dirfd");
  find(found.scandir, "scandir");
  find(found.readlink, "readlink");
  find(found.readlinkat, "readlinkat");
  find(found.realpath, "realpath");
  errno = saved;
  ready.store(true, std::memory_order_release);
}

// Early, for open() may be called in a signal handler and dlsym() may not.
[[gnu::constructor]] void find_early() { (void)next(); }

}  // namespace

const Next& next() {
  if (!ready.load(std::memory_order_acquire)) [[unlikely]]
    find_all();
  return found;
}

}  // namespace nerve::preload
