// Our directories that a program has open: as descriptors, to which paths can be relative, and as
// streams (DIR).
//
// There is no directory behind the descriptor. It is an empty memfd that is identified by its
// inode, so that duplicates are recognised too and close() need not be tracked.
#pragma once

#include <limits.h>
#include <sys/stat.h>

namespace nerve::preload {

// Returns -1, with errno, on failure. `path` is one that Found has resolved.
[[nodiscard]] int open_folder(const char* path, int flags);

// True if this file is one of them; stores its path.
[[nodiscard]] bool is_folder(const struct stat& file, char (&path)[PATH_MAX]);
[[nodiscard]] bool is_folder(int fd, char (&path)[PATH_MAX]);

// The absolute path that such a call refers to, if it may be ours; otherwise null. May use `room`.
[[nodiscard]] const char* path_at(int fd, const char* path, int flags, char (&room)[PATH_MAX]);

}  // namespace nerve::preload
