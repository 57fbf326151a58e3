#include "preload/next.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

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

// Two threads may run this at once; both write the same values.
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
  find(found.write, "write");
  find(found.close, "close");
  errno = saved;
  ready.store(true, std::memory_order_release);
}

// Early, because open() may be called in a signal handler, where dlsym() must not be.
[[gnu::constructor]] void find_early() { (void)next(); }

}  // namespace

const Next& next() {
  if (!ready.load(std::memory_order_acquire)) [[unlikely]]
    find_all();
  return found;
}

void* find_in_verbs(const char* name) {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<void*>(&find_in_verbs), &self) == 0) return nullptr;
  constexpr char kFile[] = "libibverbs.so.1";
  char path[PATH_MAX];
  const char* const slash = ::strrchr(self.dli_fname, '/');
  const size_t folder = slash != nullptr ? static_cast<size_t>(slash + 1 - self.dli_fname) : 0;
  if (folder + sizeof kFile > sizeof path) return nullptr;
  ::memcpy(path, self.dli_fname, folder);
  ::memcpy(path + folder, kFile, sizeof kFile);
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return library != nullptr ? ::dlsym(library, name) : nullptr;
}

}  // namespace nerve::preload
