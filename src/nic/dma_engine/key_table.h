// Maps memory keys to access rights with a single probe.
//
// A key is a 24-bit index and an 8-bit variant. Regions and windows share one key space. Indices
// are drawn at random, but only those that fall on a free bucket (selected by their low bits):
// lookup needs no probing, and no bit of a key reveals the position of its owner in the table or
// the number of keys. Doubling the table cannot make two indices collide that did not before.
//
// One thread may claim and grant keys while others look up theirs: a grant is filled in before its
// key is set, and a table that has become too small is kept for the threads that still read it.
// Releasing a grant takes two steps: revoke() it, and release() it when no thread that found it
// before still uses it.
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

inline constexpr std::uint32_t kAnyQp = ~std::uint32_t{0};  // not a QPN: those have 24 bits

// A range of addresses, the operations allowed there and the QP that may use it. One cache line.
struct alignas(64) Grant {
  // Compared as a whole; zero while no key grants access (an unbound window). Set last, cleared
  // first.
  std::atomic<std::uint32_t> key{};
  std::uint32_t key_index{};  // the 24 bits that stay with the owner
  std::uint64_t start{};      // as used by work requests and peers
  std::uint64_t length{};
  std::uint64_t shift{};  // from such an address to that of the memory, modulo 2^64
  MemoryPort* port{};
  PdHandle pd{};
  Access access{};
  std::uint32_t qpn{kAnyQp};  // the only QP that may use it (type 2 windows)
  std::uint32_t window{};     // the slot of the window, if it is one
  GrantKind kind{GrantKind::kNone};

  // Copies everything except the key.
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

  // `shift` must be set. If an aligned address translates to an unaligned word (a zero-based region
  // over an odd buffer), no atomic instruction can serve it, so the right to atomics is removed.
  void allow(Access rights) {
    access = shift % sizeof(std::uint64_t) == 0 ? rights : without(rights, Access::kRemoteAtomic);
  }
  // For count > 0. The unsigned differences cannot wrap into range: start + length does not exceed
  // 2^64, so an address before `start` yields an offset beyond `length`.
  [[nodiscard]] bool covers(std::uint64_t address, std::uint64_t count) const {
    const std::uint64_t end = length + (planted(Bug::kSkipBoundsCheck) ? 1U : 0U);
    return count <= end && address - start <= end - count;
  }
};
static_assert(sizeof(Grant) == 64);

class KeyTable {
 public:
  // At most half of the indices are in use, so that drawing a free one takes few attempts.
  static constexpr std::uint32_t kMaxGrants = 1U << 23;

  explicit KeyTable(const SipKey& secret) : sequence_{secret} { use(Buckets(kFirstBuckets)); }

  [[nodiscard]] bool full() const { return used_ == kMaxGrants; }

  // The grant for `key`, or null.
  [[nodiscard]] const Grant* find(std::uint32_t key) const {
    const Grant& grant = bucket(key >> 8);
    const bool matches = planted(Bug::kAcceptStaleRkey)
                             ? grant.kind != GrantKind::kNone && grant.key_index == key >> 8
                             : grant.key.load(std::memory_order_acquire) == key;
    // An empty bucket has key zero, which is never valid.
    return matches && key != 0 ? &grant : nullptr;
  }
  // The grant of the owner that claimed the index of `key`.
  Grant& owned(std::uint32_t key);

  // Draws an unused key and its bucket; the caller fills in the grant. Must not be called when
  // full().
  std::uint32_t claim(GrantKind kind);
  void revoke(std::uint32_t key) { owned(key).set_key(0); }
  void release(std::uint32_t key);

  // The same index with the next variant.
  [[nodiscard]] std::uint32_t next_variant(std::uint32_t key) const;

 private:
  static constexpr std::size_t kFirstBuckets = 16;

  using Buckets = std::vector<Grant>;  // a power of two of them, at least twice used_

  [[nodiscard]] static Grant& bucket(Buckets& of, std::uint32_t key_index) {
    return of[key_index & (of.size() - 1)];
  }
  [[nodiscard]] Grant& bucket(std::uint32_t key_index) const {
    const std::uintptr_t in_use = in_use_.load(std::memory_order_acquire);
    const std::uint32_t mask = (1U << (in_use % alignof(Grant))) - 1;
    return reinterpret_cast<Grant*>(in_use - in_use % alignof(Grant))[key_index & mask];
  }
  void use(Buckets buckets);
  void grow();

  // The address of the buckets in use plus the logarithm of their number, for which the alignment
  // of a grant leaves room. A look-up thus reads two cache lines, this one and the grant.
  std::atomic<std::uintptr_t> in_use_{};
  std::vector<Buckets> made_;  // the last one is in use
  std::uint32_t used_{};
  KeySequence sequence_;
};

}  // namespace nerve::nic
