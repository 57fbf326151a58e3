// What each memory key grants, found with one look.
//
// A key is a 24-bit index and an 8-bit variant. Regions and windows share one key space. Indices
// are drawn at random, but only such as fall on a free bucket (their low bits name it): the
// look-up needs no probing, and no bit of a key tells where in the table its owner is or how many
// keys there are. A table that doubles cannot make two indices collide that did not before.
//
// One thread may claim and grant keys while others look for theirs: a grant is filled in before its
// key is set, and a table that has become too small stays where it is, for those who look there. To
// release a grant takes two steps: revoke() it, and release() it when no thread that found it
// before uses it any more.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/memory_port.h"
#include "base/planted.h"
#include "nic/dma_engine/key_sequence.h"
#include "nic/handles.h"
#include "nic/memory.h"

namespace nerve::nic {

enum class GrantKind : std::uint8_t { kNone, kRegion, kWindow };

inline constexpr std::uint32_t kAnyQp = ~std::uint32_t{0};  // no QPN: those have 24 bits

// A range of addresses, what may be done there and by whom. One cache line.
struct Grant {
  // Compared whole; zero while no key gives access (an unbound window). Set last, cleared first.
  std::atomic<std::uint32_t> key{};
  std::uint32_t key_index{};  // the 24 bits that stay with the owner
  std::uint64_t start{};      // as work requests and peers name it
  std::uint64_t length{};
  std::uint64_t shift{};  // from such an address to the memory's own, modulo 2^64
  MemoryPort* port{};
  PdHandle pd{};
  Access access{};
  std::uint32_t qpn{kAnyQp};  // the one QP that may use it (type 2 windows)
  std::uint32_t window{};     // the slot of the window, where it is one
  GrantKind kind{GrantKind::kNone};

  // All but the key.
  void take(const Grant& other) {
    key_index = other.key_index;
    start = other.start;
    length = other.length;
    shift = other.shift;
    port = other.port;
    pd = other.pd;
    access = other.access;
    qpn = other.qpn;
    window = other.window;
    kind = other.kind;
  }
  void set_key(std::uint32_t value) { key.store(value, std::memory_order_release); }

  // Needs `shift`. An aligned address may mean a word that is not (a zero-based region over an odd
  // buffer); no atomic instruction can serve it, so the right is not given there.
  void allow(Access rights) {
    access = shift % sizeof(std::uint64_t) == 0 ? rights : without(rights, Access::kRemoteAtomic);
  }
  // For length > 0. Neither difference can be taken the wrong way: start + length does not pass
  // 2^64, so that an address before `start` yields an offset beyond `length`.
  [[nodiscard]] bool covers(std::uint64_t address, std::uint64_t count) const {
    const std::uint64_t end = length + (planted(Bug::kSkipBoundsCheck) ? 1U : 0U);
    return count <= end && address - start <= end - count;
  }
};
static_assert(sizeof(Grant) == 64);

class KeyTable {
 public:
  // Half of the indices are never in use at once, so that drawing a free one takes few attempts.
  static constexpr std::uint32_t kMaxGrants = 1U << 23;

  explicit KeyTable(const SipKey& secret) : sequence_{secret} { use(kFirstBuckets); }

  [[nodiscard]] bool full() const { return used_ == kMaxGrants; }

  // The grant that `key` gives, or null.
  [[nodiscard]] const Grant* find(std::uint32_t key) const {
    const Grant& grant = bucket(key >> 8);
    const bool matches = planted(Bug::kAcceptStaleRkey)
                             ? grant.kind != GrantKind::kNone && grant.key_index == key >> 8
                             : grant.key.load(std::memory_order_acquire) == key;
    // An empty bucket has key zero, which no owner ever has.
    return matches && key != 0 ? &grant : nullptr;
  }
  // The grant of an owner, which claimed the index of `key`.
  Grant& owned(std::uint32_t key);

  // A key that is nobody's, and its bucket: the caller fills in what it grants. Not when full().
  std::uint32_t claim(GrantKind kind);
  void revoke(std::uint32_t key) { owned(key).set_key(0); }
  void release(std::uint32_t key);

  // The same index with the next variant.
  [[nodiscard]] std::uint32_t next_variant(std::uint32_t key) const;

 private:
  static constexpr std::size_t kFirstBuckets = 16;

  struct Buckets {
    explicit Buckets(std::size_t size) : grants(size) {}
    [[nodiscard]] Grant& operator[](std::uint32_t key_index) {
      return grants[key_index & (grants.size() - 1)];
    }
    std::vector<Grant> grants;  // a power of two, at least twice used_
  };

  [[nodiscard]] Grant& bucket(std::uint32_t key_index) const {
    return (*buckets_.load(std::memory_order_acquire))[key_index];
  }
  void use(std::size_t buckets);
  void grow();

  std::atomic<Buckets*> buckets_{};
  std::vector<std::unique_ptr<Buckets>> made_;  // the last one is in use
  std::uint32_t used_{};
  KeySequence sequence_;
};

}  // namespace nerve::nic
