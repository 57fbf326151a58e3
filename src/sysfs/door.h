// The interface between libnerve-preload.so, which uses only libc, and libibverbs.so.1, which knows
// the devices: one C function that returns the tree as one block of memory.
//
// Both libraries are built together and installed in one folder; the preload library loads the
// other when a program first uses one of our paths.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nerve::sysfs {

// Same values as NodeKind in tree.h.
enum class OfferedKind : std::uint32_t { kFolder, kFile, kLink, kCharDevice };

struct OfferedNode {
  const char* path;
  const char* text;
  std::size_t length;  // of the text
  OfferedKind kind;
  std::uint32_t minor_number;  // of a character device
};

// One block including all strings, which the caller must free(). Null if there is no memory.
struct OfferedTree {
  std::size_t count;
  const OfferedNode* nodes;
};

using OfferCall = OfferedTree*();
inline constexpr const char* kOfferCall = "nerve_offered_tree";
inline constexpr std::uint32_t kOfferedMajor = 231;

}  // namespace nerve::sysfs
