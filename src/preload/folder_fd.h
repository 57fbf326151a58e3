// Folders of ours that a program has open: as descriptors, to which paths can be relative, and as
// streams (DIR).
//
// There is no folder behind the descriptor. It is an empty memory file, known by its inode, so that
// copies of it are known too and nothing has to watch what the program closes.
#pragma once

#include <limits.h>
#include <sys/stat.h>

namespace nerve::preload {

// -1 and errno when it cannot be had. `path` is one that Found has walked.
[[nodiscard]] int open_folder(const char* path, int flags);

// Whether this file is one of them, and its path.
[[nodiscard]] bool is_folder(const struct stat& file, char (&path)[PATH_MAX]);
[[nodiscard]] bool is_folder(int fd, char (&path)[PATH_MAX]);

// The absolute path that such a call means, if it may be ours; else null. `room` may hold it.
[[nodiscard]] const char* path_at(int fd, const char* path, int flags, char (&room)[PATH_MAX]);

}  // namespace nerve::preload
