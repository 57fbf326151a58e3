#include "preload/offered.h"

#include <stdlib.h>

#include <atomic>
#include <cerrno>

#include "preload/next.h"

namespace nerve::preload {
namespace {

using sysfs::OfferCall;
using sysfs::OfferedKind;
using sysfs::OfferedNode;
using sysfs::OfferedTree;

constexpr int kMostLinks = 8;  // links in our tree form no cycles

OfferedTree* ask() {
  static std::atomic<OfferCall*> known;
  OfferCall* call = known.load(std::memory_order_relaxed);
  if (call == nullptr) {
    call = reinterpret_cast<OfferCall*>(find_in_verbs(sysfs::kOfferCall));
    known.store(call, std::memory_order_relaxed);
  }
  return call != nullptr ? call() : nullptr;
}

// `nerve run --offer namespace` has mounted the tree, so the kernel answers.
bool is_mounted() {
  const char* const offer = ::secure_getenv("NERVE_OFFER");
  return offer != nullptr && ::strcmp(offer, "namespace") == 0;
}

bool begins_with_part(const char* path, const char* root) {
  const size_t length = ::strlen(root);
  return ::strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool is_below_a_root(const char* path) {
  return begins_with_part(path, "/sys/class/infiniband") ||
         begins_with_part(path, "/sys/class/infiniband_verbs") ||
         begins_with_part(path, "/dev/infiniband");
}

// The parent directories of the roots.
bool is_above_a_root(const char* path) {
  return path[0] == '\0' || ::strcmp(path, "/sys") == 0 || ::strcmp(path, "/sys/class") == 0 ||
         ::strcmp(path, "/dev") == 0;
}

const char* without_slashes(const char* path) { return path + ::strspn(path, "/"); }

bool append(char (&path)[PATH_MAX], const char* part, size_t length) {
  const size_t used = ::strlen(path);
  if (used + 1 + length + 1 > sizeof path) return false;
  path[used] = '/';
  ::memcpy(path + used + 1, part, length);
  path[used + 1 + length] = '\0';
  return true;
}

void drop_last(char (&path)[PATH_MAX]) {
  if (char* const slash = ::strrchr(path, '/')) *slash = '\0';
}

}  // namespace

const char* name_of(const char* path) {
  const char* const slash = ::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

Found::Found(const char* path, Links links) {
  const int saved = errno;
  if (!is_mounted()) tree_ = ask();
  if (tree_ != nullptr) {
    walk(path, links);
  } else if (::strlen(path) < sizeof path_) {
    elsewhere_ = true;
    ::strcpy(path_, path);
  } else {
    error_ = ENAMETOOLONG;
  }
  errno = saved;
}

Found::~Found() {
  const int saved = errno;
  ::free(tree_);
  errno = saved;
}

const OfferedNode* Found::find(const char* path) const {
  for (size_t i = 0; i < tree_->count; ++i) {
    if (::strcmp(tree_->nodes[i].path, path) == 0) return &tree_->nodes[i];
  }
  return nullptr;
}

void Found::fail(int error) {
  error_ = error;
  node_ = nullptr;
}

// Resolves one more component; false if it does not exist.
bool Found::step(const char* part, size_t length) {
  if (node_ != nullptr && node_->kind != OfferedKind::kFolder) return fail(ENOTDIR), false;
  node_ = nullptr;
  if (length == 2 && part[0] == '.' && part[1] == '.') {
    drop_last(path_);
  } else if ((length != 1 || part[0] != '.') && !append(path_, part, length)) {
    return fail(ENAMETOOLONG), false;
  }
  if (is_above_a_root(path_)) return true;
  elsewhere_ = !is_below_a_root(path_);
  if (elsewhere_) return true;
  node_ = find(path_);
  if (node_ == nullptr) fail(ENOENT);
  return node_ != nullptr;
}

// Resolves the path like the kernel, component by component. path_ is the part resolved so far.
void Found::walk(const char* path, Links links) {
  char rest[PATH_MAX];
  if (::strlen(path) >= sizeof rest) return fail(ENAMETOOLONG);
  ::strcpy(rest, path);
  int links_met = 0;
  for (const char* at = without_slashes(rest); *at != '\0';) {
    const size_t length = ::strcspn(at, "/");
    const bool last = at[length] == '\0';
    if (!step(at, length)) return;
    at = without_slashes(at + length);
    if (elsewhere_) {
      if (*at != '\0' && !append(path_, at, ::strlen(at))) fail(ENAMETOOLONG);
      return;
    }
    if (node_ == nullptr || node_->kind != OfferedKind::kLink) {
      if (*at == '\0' && !last && node_ != nullptr && node_->kind != OfferedKind::kFolder) {
        return fail(ENOTDIR);  // a trailing slash after something that is not a directory
      }
      continue;
    }
    if (last && links == Links::kStop) return;
    if (++links_met > kMostLinks) return fail(ELOOP);
    char target[PATH_MAX];
    ::strcpy(target, node_->text);
    if (*at != '\0' && !append(target, at, ::strlen(at))) return fail(ENAMETOOLONG);
    ::strcpy(rest, target);
    path_[0] = '\0';
    node_ = nullptr;
    at = without_slashes(rest);
  }
  if (node_ != nullptr) return;
  elsewhere_ = true;  // "/sys/class/infiniband/.."
  if (path_[0] == '\0') ::strcpy(path_, "/");
}

const OfferedNode* Found::next_in_folder(const OfferedNode* last) const {
  const size_t length = ::strlen(path_);
  const size_t begin = last == nullptr ? 0 : static_cast<size_t>(last - tree_->nodes) + 1;
  for (size_t i = begin; i < tree_->count; ++i) {
    const char* const path = tree_->nodes[i].path;
    if (::strncmp(path, path_, length) != 0 || path[length] != '/') continue;
    if (::strchr(path + length + 1, '/') == nullptr) return &tree_->nodes[i];
  }
  return nullptr;
}

}  // namespace nerve::preload
