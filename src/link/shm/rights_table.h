// What a process lets others do to its memory, in memory that it writes and they only read.
//
// A requester that places bytes itself (placement.h) bypasses the target's engine, so the target
// publishes what the engine would check: for each remote key its region, for each QP its peer and
// what it allows. What is not in the table is no error: the request goes through the ring, to
// the engine, which knows everything.
//
//    0      8   magic
//   64          keys: 4096 entries of 64 bytes
//               QPs: 4096 entries of 64 bytes
//
// An entry, words of this machine's byte order:
//
//    0      8   version: even at rest, odd while the entry is written; 0 when it was never used
//    8      8   name: key or QP number, plus 2^32; zero when the entry is empty again
//   16     40   contents   key: iova, length, address, access | pd << 32
//                          QP:  peer's QP number, access | pd << 32
//
// An entry lies within 16 steps of where its name hashes to; when all are taken, the name is not
// published. A reader stops at one that was never used.
//
// Ordering. Each word is atomic. The owner makes the version odd, writes the words and makes it
// even, each with release; a reader takes version, words and version again, each with acquire: who
// saw a word of a later writing sees its odd version too, so equal and even means that the words
// belong together. How removal waits for placements that saw the entry is told in in_use.h.
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

// A region of host memory.
struct KeyRights {
  std::uint64_t iova{};  // as requests name its first byte
  std::uint64_t length{};
  std::uint64_t address{};  // of the same byte in the owner's address space
  Rights rights{};
  std::uint32_t pd{};
  friend bool operator==(const KeyRights&, const KeyRights&) = default;
};

// A connected QP in a state that takes requests.
struct QpRights {
  Qpn peer{};  // whose requests it takes
  Rights rights{};
  std::uint32_t pd{};
  friend bool operator==(const QpRights&, const QpRights&) = default;
};

inline constexpr std::size_t kRightsEntries = 4096;  // of each sort
inline constexpr std::size_t kRightsEntrySize = 64;
inline constexpr std::size_t kRightsTableSize = 64 + 2 * kRightsEntries * kRightsEntrySize;

// The owner's end. `memory` is kRightsTableSize zeroed bytes at a cache line, and outlives it.
class RightsPublisher {
 public:
  explicit RightsPublisher(MutableBytes memory);

  // Both replace what was published under the name. False when there is no room: nothing is
  // published then, and nothing remains of what was.
  bool publish(RKey key, const KeyRights& rights);
  bool publish(Qpn qpn, const QpRights& rights);

  // What is published under the name now.
  [[nodiscard]] std::optional<KeyRights> find(RKey key) const;
  [[nodiscard]] std::optional<QpRights> find(Qpn qpn) const;

  // From here on no reader finds it. One that has found it may still be placing: before memory goes
  // away or rights shrink, wait for it: Placement (in_use.h).
  void withdraw(RKey key);
  void withdraw(Qpn qpn);

 private:
  std::byte* memory_;
};

// What a requester wants to do, as the packet would say it.
struct PlaceRequest {
  Qpn target{};     // the QP it is sent to
  Qpn requester{};  // the QP it comes from
  RKey key{};
  std::uint64_t iova{};
  std::uint64_t length{};
  Rights need{};
};

// A requester's end: memory that another process writes. It may lie; then bytes land elsewhere in
// its own address space, which was always in its power.
class RightsView {
 public:
  // Nothing when the memory is no such table.
  static std::optional<RightsView> open(Bytes memory);

  [[nodiscard]] std::optional<KeyRights> find(RKey key) const;
  [[nodiscard]] std::optional<QpRights> find(Qpn qpn) const;

  // Where in the target's address space the request may act; nothing when the engine there has to
  // be asked, which also gives the right error.
  [[nodiscard]] std::optional<std::uint64_t> resolve(const PlaceRequest& request) const;

 private:
  friend class RightsPublisher;
  explicit RightsView(const std::byte* memory) : memory_{memory} {}
  const std::byte* memory_;
};

}  // namespace nerve::link::shm
