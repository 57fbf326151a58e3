// Looks up a program's path among those that we offer.
//
// Every call of every wrapper checks whether the path may be ours, which costs one comparison. Only
// then is libibverbs.so.1 loaded and asked for the tree, each time again, because addresses come
// and go.
//
// A path is ours if it begins literally with one of the roots below, as programs write it, or is
// relative to one of our directories that the program has open. Other spellings
// (/sys//class/infiniband, or relative to /sys) go to the kernel.
#pragma once

#include <limits.h>
#include <string.h>

#include "sysfs/door.h"

namespace nerve::preload {

inline constexpr char kDevices[] = "/sys/class/infiniband";  // and paths that begin with it
inline constexpr char kNodes[] = "/dev/infiniband";

[[nodiscard]] inline bool may_be_ours(const char* path) {
  // The headers declare the path non-null, and the compiler would remove the check; programs pass
  // null anyway.
  asm("" : "+r"(path));
  if (path == nullptr || path[0] != '/') return false;
  if (path[1] == 's') return ::strncmp(path, kDevices, sizeof kDevices - 1) == 0;
  return path[1] == 'd' && ::strncmp(path, kNodes, sizeof kNodes - 1) == 0;
}

enum class Links { kFollow, kStop };  // for a link that is the last component

class Found {
 public:
  // `path` begins with "/", and is used only during the call.
  Found(const char* path, Links links);
  ~Found();
  Found(const Found&) = delete;
  Found& operator=(const Found&) = delete;

  // Not ours: the call continues with elsewhere(), where a link or ".." has led.
  [[nodiscard]] bool is_elsewhere() const { return elsewhere_; }
  [[nodiscard]] const char* elsewhere() const { return path_; }

  // Ours: the node; or null, and the errno to set.
  [[nodiscard]] const sysfs::OfferedNode* node() const { return node_; }
  [[nodiscard]] int error() const { return error_; }
  // The path of the node, without links and dots.
  [[nodiscard]] const char* path() const { return path_; }

  // Iterates over the nodes in a directory: pass null at first; returns null at the end.
  [[nodiscard]] const sysfs::OfferedNode* next_in_folder(const sysfs::OfferedNode* last) const;

 private:
  void walk(const char* path, Links links);
  bool step(const char* part, size_t length);
  void fail(int error);
  [[nodiscard]] const sysfs::OfferedNode* find(const char* path) const;

  sysfs::OfferedTree* tree_{};
  const sysfs::OfferedNode* node_{};
  int error_{};
  bool elsewhere_{};
  char path_[PATH_MAX]{};
};

// The part of a path after its last slash.
[[nodiscard]] const char* name_of(const char* path);

}  // namespace nerve::preload
