// A path that a program gave, looked up among those that we offer.
//
// Whether a path may be ours is asked on every call of every wrapper and costs one comparison. Only
// then is libibverbs.so.1 loaded and asked for the tree, anew each time: addresses come and go.
//
// A path is ours when it is written as programs write it, beginning with the roots below, or is
// relative to a folder of ours that the program has open. Others (/sys//class/infiniband, or
// relative to /sys) reach the kernel.
#pragma once

#include <limits.h>
#include <string.h>

#include "offer/door.h"

namespace nerve::preload {

inline constexpr char kDevices[] = "/sys/class/infiniband";  // and what begins with it
inline constexpr char kNodes[] = "/dev/infiniband";

[[nodiscard]] inline bool may_be_ours(const char* path) {
  // Headers promise that no path is null, and compilers believe it; programs do not keep it.
  asm("" : "+r"(path));
  if (path == nullptr || path[0] != '/') return false;
  if (path[1] == 's') return ::strncmp(path, kDevices, sizeof kDevices - 1) == 0;
  return path[1] == 'd' && ::strncmp(path, kNodes, sizeof kNodes - 1) == 0;
}

enum class Links { kFollow, kStop };  // at a link that is the last part of the path

class Found {
 public:
  // Begins with "/". `path` is looked at only here.
  Found(const char* path, Links links);
  ~Found();
  Found(const Found&) = delete;
  Found& operator=(const Found&) = delete;

  // Not ours: the call goes on with elsewhere(), which is where a link or ".." has led.
  [[nodiscard]] bool is_elsewhere() const { return elsewhere_; }
  [[nodiscard]] const char* elsewhere() const { return path_; }

  // Ours: the node, or null and what errno is to be.
  [[nodiscard]] const offer::OfferedNode* node() const { return node_; }
  [[nodiscard]] int error() const { return error_; }
  // Of the node, without links and dots.
  [[nodiscard]] const char* path() const { return path_; }

  // The nodes in a folder, one after the other: null at first, null at the end.
  [[nodiscard]] const offer::OfferedNode* next_in_folder(const offer::OfferedNode* last) const;

 private:
  void walk(const char* path, Links links);
  bool step(const char* part, size_t length);
  void fail(int error);
  [[nodiscard]] const offer::OfferedNode* find(const char* path) const;

  offer::OfferedTree* tree_{};
  const offer::OfferedNode* node_{};
  int error_{};
  bool elsewhere_{};
  char path_[PATH_MAX]{};
};

// The part of a path after its last slash.
[[nodiscard]] const char* name_of(const char* path);

}  // namespace nerve::preload
