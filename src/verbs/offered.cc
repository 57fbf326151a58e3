// Exports the tree of offer/tree.h to the preload library, through the interface of offer/door.h.
#include <cstdlib>
#include <cstring>
#include <new>

#include "host/devices/identity.h"
#include "sysfs/door.h"
#include "sysfs/tree.h"

namespace nerve::verbs {
namespace {

using sysfs::Node;
using sysfs::NodeKind;
using sysfs::OfferedKind;
using sysfs::OfferedNode;
using sysfs::OfferedTree;

static_assert(static_cast<int>(OfferedKind::kFolder) == static_cast<int>(NodeKind::kFolder));
static_assert(static_cast<int>(OfferedKind::kFile) == static_cast<int>(NodeKind::kFile));
static_assert(static_cast<int>(OfferedKind::kLink) == static_cast<int>(NodeKind::kLink));
static_assert(static_cast<int>(OfferedKind::kCharDevice) ==
              static_cast<int>(NodeKind::kCharDevice));

static_assert(sysfs::kOfferedMajor == host::kVerbsMajor);

// Copies the text with its terminating zero, and advances.
const char* put(const std::string& text, char*& at) {
  char* const here = at;
  std::memcpy(here, text.c_str(), text.size() + 1);
  at += text.size() + 1;
  return here;
}

}  // namespace
}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" [[gnu::visibility("default")]] OfferedTree* nerve_offered_tree() noexcept {
  const sysfs::Tree tree = sysfs::current_tree();
  std::size_t size = sizeof(OfferedTree) + tree.size() * sizeof(OfferedNode);
  for (const Node& node : tree) size += node.path.size() + node.text.size() + 2;
  auto* const block = static_cast<char*>(std::malloc(size));
  if (block == nullptr) return nullptr;
  char* const nodes = block + sizeof(OfferedTree);
  char* strings = nodes + tree.size() * sizeof(OfferedNode);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const Node& node = tree[i];
    const char* const path = put(node.path, strings);
    const char* const text = put(node.text, strings);
    new (nodes + i * sizeof(OfferedNode)) OfferedNode{.path = path,
                                                      .text = text,
                                                      .length = node.text.size(),
                                                      .kind = static_cast<OfferedKind>(node.kind),
                                                      .minor_number = node.minor_number};
  }
  return new (block)
      OfferedTree{.count = tree.size(), .nodes = reinterpret_cast<const OfferedNode*>(nodes)};
}
