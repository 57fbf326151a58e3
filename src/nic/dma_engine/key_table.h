// What each memory key grants, found with one look.
//
// A key is a 24-bit index and an 8-bit variant. Regions and windows share one key space. Indices
// are drawn at random, but only such as fall on a free bucket (their low bits name it): the
// look-up needs no probing, and no bit of a key tells where in the table its owner is or how many
// keys there are. A table that doubles cannot make two indices collide that did not before.
#pragma once

#include <cstdint>
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
  std::uint32_t key{};        // compared whole; zero while no key gives access (an unbound window)
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

  explicit KeyTable(const SipKey& secret) : buckets_(kFirstBuckets), sequence_{secret} {}

  [[nodiscard]] bool full() const { return used_ == kMaxGrants; }

  // The grant that `key` gives, or null. Pointers hold until the next claim().
  [[nodiscard]] const Grant* find(std::uint32_t key) const {
    const Grant& grant = bucket(key >> 8);
    const bool matches = planted(Bug::kAcceptStaleRkey)
                             ? grant.kind != GrantKind::kNone && grant.key_index == key >> 8
                             : grant.key == key;
    // An empty bucket has key zero, which no owner ever has.
    return matches && key != 0 ? &grant : nullptr;
  }
  // The grant of an owner, which claimed the index of `key`.
  Grant& owned(std::uint32_t key);

  // A key that is nobody's, and its bucket: the caller fills in what it grants. Not when full().
  std::uint32_t claim(GrantKind kind);
  void release(std::uint32_t key);

  // The same index with the next variant.
  [[nodiscard]] std::uint32_t next_variant(std::uint32_t key) const;

 private:
  static constexpr std::size_t kFirstBuckets = 16;

  [[nodiscard]] const Grant& bucket(std::uint32_t key_index) const {
    return buckets_[key_index & (buckets_.size() - 1)];
  }
  void grow();

  std::vector<Grant> buckets_;  // a power of two, at least twice used_
  std::uint32_t used_{};
  KeySequence sequence_;
};

}  // namespace nerve::nic
