#include "verbs/live_objects.h"

#include <pthread.h>

#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace nerve::verbs {
namespace {

constexpr std::size_t kKept = 64;

struct Destroyed {
  void* object{};
  void (*free)(void*){};
};

// Never destroyed, because programs use verbs in their exit handlers. This lock is a leaf: no other
// lock is taken while it is held.
struct LiveRegistry {
  std::mutex lock;
  std::map<const void*, LiveObject> objects;
  std::array<Destroyed, kKept> destroyed{};  // a ring
  std::size_t next_destroyed{};
};

LiveRegistry& live_registry() {
  static LiveRegistry* const only = new LiveRegistry;
  return *only;
}

// The child of a fork must not find the lock held by a thread that does not exist there. This is
// registered when the library is loaded, before the host registers its handlers: fork handlers run
// in reverse order, so fork takes the host's locks first and this one last, which is also the lock
// order of the verbs.
void lock_for_fork() { live_registry().lock.lock(); }
void unlock_after_fork() { live_registry().lock.unlock(); }
[[maybe_unused]] const int kRegistered =
    ::pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);

}  // namespace

void add_live(const LiveObject& object) {
  const std::scoped_lock guard{live_registry().lock};
  live_registry().objects.insert_or_assign(object.object, object);
}

void remove_live(const void* object) {
  const std::scoped_lock guard{live_registry().lock};
  live_registry().objects.erase(object);
}

std::optional<LiveObject> find_live(const void* object) {
  const std::scoped_lock guard{live_registry().lock};
  const auto found = live_registry().objects.find(object);
  if (found == live_registry().objects.end()) return std::nullopt;
  return found->second;
}

std::vector<LiveObject> remove_live_of(const ibv_context* context) {
  std::vector<LiveObject> removed;
  const std::scoped_lock guard{live_registry().lock};
  std::erase_if(live_registry().objects, [&](const auto& entry) {
    if (entry.second.context != context) return false;
    removed.push_back(entry.second);
    return true;
  });
  return removed;
}

void free_later(void* object, void (*free)(void*)) {
  Destroyed oldest{object, free};
  {
    const std::scoped_lock guard{live_registry().lock};
    std::swap(oldest, live_registry().destroyed[live_registry().next_destroyed++ % kKept]);
  }
  if (oldest.free != nullptr) oldest.free(oldest.object);
}

}  // namespace nerve::verbs
