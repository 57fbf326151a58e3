// The rights of other processes on this process's memory, in memory that it writes and they only
// read.
//
// A requester that places bytes itself (placement.h) bypasses the target's engine, so the target
// publishes what its engine would check: for each remote key its region, for each QP its peer and
// its access flags. If something is not in the table, the request takes the ring to the engine,
// which knows everything.
//
//    0      8   magic
//   64          keys: 4096 entries of 64 bytes
//               QPs: 4096 entries of 64 bytes
//
// An entry, words of this machine's byte order:
//
//    0      8   version: even at rest, odd while the entry is written; 0 when it was never used
//    8      8   name: key or QP number, plus 2^32; zero when the entry is empty again
//   16     40   contents   key: iova, length, address, access | pd << 32,
//                               copier
//                          QP:  peer's QP number, access | pd << 32
//
// An entry is within 16 steps of the hash of its name; if all of those are taken, the name is not
// published. A reader stops at an entry that was never used.
//
// Ordering (a seqlock). Each word is atomic. The owner makes the version odd, writes the words and
// makes it even, each at least with release. A reader reads version, words and version again, each
// with acquire. If it read a word of a later write, it also sees that write's odd version; so two
// equal even versions mean that the words are consistent. in_use.h describes how removal waits for
// placements that have seen the entry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/mask.h"

namespace nerve::link::shm {

// What a remote peer may do.
enum class Rights : std::uint32_t { kNone = 0, kWrite = 1U << 0, kRead = 1U << 1 };

}  // namespace nerve::link::shm

template <>
inline constexpr bool nerve::kIsMask<nerve::link::shm::Rights> = true;

namespace nerve::link::shm {

// A region of host memory, or of GPU memory that the owner has shared with a copier.
struct KeyRights {
  std::uint64_t iova{};  // the address of its first byte in requests
  std::uint64_t length{};
  std::uint64_t address{};  // of the same byte in the owner's address space, or the copier's
  Rights rights{};
  std::uint32_t pd{};
  std::uint64_t copier{};  // zero: host memory
  friend bool operator==(const KeyRights&, const KeyRights&) = default;
};

// A connected QP in a state that accepts requests.
struct QpRights {
  Qpn peer{};  // the QP whose requests it accepts
  Rights rights{};
  std::uint32_t pd{};
  friend bool operator==(const QpRights&, const QpRights&) = default;
};

inline constexpr std::size_t kRightsEntries = 4096;  // of keys, and of QPs
inline constexpr std::size_t kRightsEntrySize = 64;
inline constexpr std::size_t kRightsTableSize = 64 + 2 * kRightsEntries * kRightsEntrySize;

// The owner's end. `memory` is kRightsTableSize zeroed bytes, cache-line aligned, and must outlive
// this.
class RightsPublisher {
 public:
  explicit RightsPublisher(MutableBytes memory);

  // Both replace what was published under the name. False if there is no room; then nothing is
  // published under it.
  bool publish(RKey key, const KeyRights& rights);
  bool publish(Qpn qpn, const QpRights& rights);

  // What is currently published under the name.
  [[nodiscard]] std::optional<KeyRights> find(RKey key) const;
  [[nodiscard]] std::optional<QpRights> find(Qpn qpn) const;

  // From now on no reader finds the entry. A reader that found it before may still be placing: wait
  // for it with Placement (in_use.h) before memory is freed or rights shrink.
  void withdraw(RKey key);
  void withdraw(Qpn qpn);

 private:
  std::byte* memory_;
};

// An access that a requester wants to make, with the fields of its packet.
struct PlaceRequest {
  Qpn target{};     // the QP it is sent to
  Qpn requester{};  // the QP it comes from
  RKey key{};
  std::uint64_t iova{};
  std::uint64_t length{};
  Rights need{};
};

// A requester's end: memory that another process writes. If its contents are wrong, bytes are
// written elsewhere in that process's own address space, which it can do anyway.
class RightsView {
 public:
  // Nothing if the memory is not such a table.
  static std::optional<RightsView> open(Bytes memory);

  [[nodiscard]] std::optional<KeyRights> find(RKey key) const;
  [[nodiscard]] std::optional<QpRights> find(Qpn qpn) const;

  // Where the request may act. Nothing if the request must go through the engine there, which also
  // returns the right error.
  struct Place {
    std::uint64_t address{};  // in the target's address space, or the copier's
    std::uint64_t copier{};   // zero: host memory
    friend bool operator==(const Place&, const Place&) = default;
  };
  [[nodiscard]] std::optional<Place> resolve(const PlaceRequest& request) const;

 private:
  friend class RightsPublisher;
  explicit RightsView(const std::byte* memory) : memory_{memory} {}
  const std::byte* memory_;
};

}  // namespace nerve::link::shm
