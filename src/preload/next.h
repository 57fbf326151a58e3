// The original functions, which ours replace.
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cerrno>

#define NERVE_EXPORT extern "C" [[gnu::visibility("default")]]

namespace nerve::preload {

using Filter = int(const dirent*);
using Compare = int(const dirent**, const dirent**);

// All are functions of libc. The variants with 64 in their names are the same functions on a 64-bit
// machine and are not listed; those with __ are called by programs compiled with an older libc or
// with _FORTIFY_SOURCE.
struct Next {
  int (*open)(const char*, int, ...);
  int (*openat)(int, const char*, int, ...);
  FILE* (*fopen)(const char*, const char*);
  int (*access)(const char*, int);
  int (*euidaccess)(const char*, int);
  int (*faccessat)(int, const char*, int, int);
  int (*stat)(const char*, struct stat*);
  int (*lstat)(const char*, struct stat*);
  int (*fstat)(int, struct stat*);
  int (*fstatat)(int, const char*, struct stat*, int);
  int (*statx)(int, const char*, int, unsigned, struct statx*);
  DIR* (*opendir)(const char*);
  DIR* (*fdopendir)(int);
  dirent* (*readdir)(DIR*);
  int (*readdir_r)(DIR*, dirent*, dirent**);
  int (*closedir)(DIR*);
  void (*rewinddir)(DIR*);
  long (*telldir)(DIR*);
  void (*seekdir)(DIR*, long);
  int (*dirfd)(DIR*);
  int (*scandir)(const char*, dirent***, Filter*, Compare*);
  ssize_t (*readlink)(const char*, char*, size_t);
  ssize_t (*readlinkat)(int, const char*, char*, size_t);
  char* (*realpath)(const char*, char*);
  ssize_t (*write)(int, const void*, size_t);
  int (*close)(int);
};

inline int refuse(int error) {
  errno = error;
  return -1;
}

// Looked up once, when the library is loaded or at the first call before that.
[[nodiscard]] const Next& next();

// A function of the libibverbs.so.1 next to this library, which is also the program's if it has
// loaded that one. Null if there is none.
[[nodiscard]] void* find_in_verbs(const char* name);

}  // namespace nerve::preload
