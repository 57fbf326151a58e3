// Memory as verbs see it: access rights, regions, windows and the lists that refer to them.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/mask.h"
#include "base/memory_port.h"
#include "nic/handles.h"

namespace nerve::nic {

// The bits are those of ibv_access_flags.
enum class Access : std::uint32_t {
  kNone = 0,
  kLocalWrite = 1U << 0,
  kRemoteWrite = 1U << 1,
  kRemoteRead = 1U << 2,
  kRemoteAtomic = 1U << 3,
  kMwBind = 1U << 4,
  kZeroBased = 1U << 5,
  kOnDemand = 1U << 6,
  kHugeTlb = 1U << 7,
  kFlushGlobal = 1U << 8,
  kFlushPersistent = 1U << 9,
  kRelaxedOrdering = 1U << 20,
};

struct MrInit {
  PdHandle pd{};
  std::uint64_t address{};  // a pointer, or an address for `port`
  std::uint64_t length{};
  std::uint64_t iova{};  // the address used by work requests and peers; usually == address
  Access access{};
  MemoryPort* port{};  // null: host memory
};

struct MrKeys {
  LKey lkey{};
  RKey rkey{};
  friend bool operator==(const MrKeys&, const MrKeys&) = default;
};

// The parts of a registration that reregister_mr() replaces (ibv_rereg_mr_flags).
enum class MrChange : std::uint8_t {
  kNone = 0,
  kTranslation = 1U << 0,
  kPd = 1U << 1,
  kAccess = 1U << 2,
};

enum class MwType : std::uint8_t { kType1 = 1, kType2 = 2 };

struct Sge {
  std::uint64_t address{};
  std::uint32_t length{};
  LKey lkey{};
  friend bool operator==(const Sge&, const Sge&) = default;
};

}  // namespace nerve::nic

template <>
inline constexpr bool nerve::kIsMask<nerve::nic::Access> = true;
template <>
inline constexpr bool nerve::kIsMask<nerve::nic::MrChange> = true;
