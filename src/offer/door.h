// The door between libnerve-preload.so, which has nothing but libc, and libibverbs.so.1, which
// knows the devices: one C function, and the tree as one block of memory.
//
// Both libraries are built together and lie in one folder; the preload library loads the other when
// a program first asks for a path of ours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nerve::offer {

// The values of NodeKind in tree.h.
enum class OfferedKind : std::uint32_t { kFolder, kFile, kLink, kCharDevice };

struct OfferedNode {
  const char* path;
  const char* text;
  std::size_t length;  // of the text
  OfferedKind kind;
  std::uint32_t minor_number;  // of a character device
};

// For the caller to free(): one block, strings and all. Null when memory is short.
struct OfferedTree {
  std::size_t count;
  const OfferedNode* nodes;
};

using OfferCall = OfferedTree*();
inline constexpr const char* kOfferCall = "nerve_offered_tree";
inline constexpr std::uint32_t kOfferedMajor = 231;

}  // namespace nerve::offer
