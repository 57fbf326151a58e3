// The rules of memory access in their simplest form; access_model_test.cc compares the engine with
// them. They share no code with it.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/dma_engine/dma_engine.h"

namespace nerve::nic::rules {

using enum Access;
__extension__ using Wide = unsigned __int128;  // wide enough that bounds cannot overflow

// The rights behind a live key.
struct Meaning {
  bool is_window{};
  PdHandle pd{};
  std::optional<Qpn> only_qp{};
  Wide first{}, end{};
  std::uint64_t memory{};  // the address of `first` in memory
  Access rights{};
  MemoryPort* port{};
};

struct Region {
  MrHandle handle{};
  MrInit init{};
  std::uint32_t key{};
  int windows{};
};

struct Window {
  MwHandle handle{};
  PdHandle pd{};
  MwType type{};
  std::optional<MrHandle> bound_to{};
  std::uint32_t key{};
  bool key_was_bound{};
};

constexpr Wide kSpace = Wide{1} << 64;

inline bool registrable(const MrInit& init) {
  const bool writes = intersects(init.access, kRemoteWrite | kRemoteAtomic);
  if (writes && !contains(init.access, kLocalWrite)) return false;
  if (init.length > 0 && init.address == 0 && init.port == nullptr) return false;
  const std::uint64_t first = contains(init.access, kZeroBased) ? 0 : init.iova;
  return Wide{init.address} + init.length <= kSpace && Wide{first} + init.length <= kSpace;
}

// Atomics are granted only where an aligned address means an aligned word.
inline Access granted(Access rights, Wide first, std::uint64_t memory) {
  const bool aligned = (memory - static_cast<std::uint64_t>(first)) % 8 == 0;
  return aligned ? rights : without(rights, kRemoteAtomic);
}

inline bool bindable(const Window& window, const Region& region, const MwBind& bind,
                     RemoteAccessor by) {
  const bool type_1 = window.type == MwType::kType1;
  const std::uint32_t wanted = bind.new_rkey.value();
  if (by.pd != window.pd) return false;
  if (!(type_1 && wanted == 0)) {
    const bool same = static_cast<std::uint8_t>(wanted) == static_cast<std::uint8_t>(window.key);
    if (same && window.key_was_bound) return false;
  }
  if (type_1 && bind.length == 0) return true;
  if (!type_1 && (window.bound_to || bind.length == 0)) return false;
  if (type_1 && contains(bind.access, kZeroBased)) return false;
  if (intersects(bind.access, kLocalWrite | kMwBind)) return false;
  if (region.init.pd != window.pd || !contains(region.init.access, kMwBind)) return false;
  const bool writes = intersects(bind.access, kRemoteWrite | kRemoteAtomic);
  if (writes && !contains(region.init.access, kLocalWrite)) return false;
  const Wide first = contains(region.init.access, kZeroBased) ? 0 : region.init.iova;
  return bind.address >= first && Wide{bind.address} + bind.length <= first + region.init.length;
}

// The expected fault of an access of at least one byte, or of a FLUSH; nullopt when it is allowed.
inline std::optional<AccessFault> verdict(const Meaning* meaning, RemoteAccessor by,
                                          std::uint64_t address, std::uint64_t length,
                                          Access need) {
  if (meaning == nullptr) return AccessFault::kNoSuchKey;
  if (meaning->pd != by.pd) return AccessFault::kWrongDomain;
  if (meaning->only_qp && *meaning->only_qp != by.qpn) return AccessFault::kWrongDomain;
  if (!contains(meaning->rights, need)) return AccessFault::kNotPermitted;
  if (length >= Wide{1} << 32) return AccessFault::kOutOfBounds;
  if (length == 0) return std::nullopt;
  const bool inside = address >= meaning->first && address + Wide{length} <= meaning->end;
  return inside ? std::nullopt : std::optional{AccessFault::kOutOfBounds};
}

}  // namespace nerve::nic::rules
