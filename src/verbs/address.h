// Addresses: conversion between ibv_ah_attr and the engine's address vector, and address handles.
#pragma once

#include <atomic>
#include <cstdint>

#include "nic/address.h"
#include "nic/handles.h"
#include "verbs/api.h"

namespace nerve::verbs {

struct VerbsAh {
  ibv_ah ah{};
  nic::AhHandle handle{};
  wire::Gid destination{};
  // The last QP reached through this handle, with the shard it was reached from in the upper 8
  // bits; all ones if none.
  std::atomic<std::uint32_t> reached{~std::uint32_t{0}};
};

inline VerbsAh& ours(ibv_ah* ah) { return *reinterpret_cast<VerbsAh*>(ah); }

[[nodiscard]] wire::Gid gid_of(const ibv_gid& gid);
[[nodiscard]] ibv_gid gid_of(const wire::Gid& gid);
[[nodiscard]] nic::AddressVector address_of(const ibv_ah_attr& attr);
[[nodiscard]] ibv_ah_attr attr_of(const nic::AddressVector& address);

}  // namespace nerve::verbs
