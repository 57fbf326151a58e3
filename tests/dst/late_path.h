// The direct path between the late memories of a world's hosts. It refuses some requests, so that
// packets and copies follow each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/prng.h"
#include "nic/direct_path.h"
#include "tests/dst/late_store.h"

namespace nerve::dst {

class LatePath final : public nic::DirectPath {
 public:
  // `all` are the paths of all hosts, this one included, in no order.
  LatePath(const wire::Gid& gid, LateStore& store, std::vector<LatePath*>& all, std::uint64_t seed)
      : gid_{gid}, store_{store}, all_{all}, prng_{seed} {
    all_.push_back(this);
  }

  bool write(const Place& /*place*/, std::span<const wire::Piece> /*payload*/) override {
    return false;
  }
  bool read(const Place& /*place*/, MutableBytes /*into*/) override { return false; }
  [[nodiscard]] bool is_better_for(std::uint32_t /*length*/) const override { return false; }

  bool begin_write(const Place& place, const wire::Piece& from) override {
    const auto at = resolve(place, from.length, nic::Access::kRemoteWrite);
    if (!at || prng_.chance(kRefused)) return false;
    store_.begin_copy(*at, from.address, from.length);
    return true;
  }
  bool begin_read(const Place& place, const wire::Piece& into) override {
    const auto at = resolve(place, into.length, nic::Access::kRemoteRead);
    if (!at || prng_.chance(kRefused)) return false;
    store_.begin_copy(into.address, *at, into.length);
    return true;
  }

  void offer(RKey key, const Region& region) override {
    withdraw(key);
    if (region.late) regions_.emplace(key.value(), region);
  }
  void offer(Qpn qpn, const Connection& connection) override {
    withdraw(qpn);
    connections_.emplace(qpn.value(), connection);
  }
  void withdraw(RKey key) override {
    if (regions_.erase(key.value()) > 0) settle_all();
  }
  void withdraw(Qpn qpn) override {
    if (connections_.erase(qpn.value()) > 0) settle_all();
  }

 private:
  static constexpr std::uint32_t kRefused = 300;  // of a thousand

  void settle_all() const {
    for (const LatePath* const path : all_) path->store_.settle();
  }
  // The address at which a request of ours may act.
  [[nodiscard]] std::optional<std::uint64_t> resolve(const Place& place, std::uint32_t length,
                                                     nic::Access need) const {
    for (const LatePath* const target : all_) {
      if (target->gid_ != place.flow.destination) continue;
      const auto qp = target->connections_.find(place.to.value());
      const auto region = target->regions_.find(place.key.value());
      if (qp == target->connections_.end() || region == target->regions_.end()) return std::nullopt;
      const Connection& connection = qp->second;
      const Region& memory = region->second;
      const std::uint64_t offset = place.address - memory.start;
      const bool allowed = connection.peer == place.from && connection.flow.destination == gid_ &&
                           contains(connection.access, need) && contains(memory.access, need) &&
                           connection.pd == memory.pd && place.address >= memory.start &&
                           offset <= memory.length && length <= memory.length - offset;
      if (!allowed) return std::nullopt;
      return memory.address + offset;
    }
    return std::nullopt;
  }

  const wire::Gid gid_;
  LateStore& store_;
  std::vector<LatePath*>& all_;
  Prng prng_;
  std::map<std::uint32_t, Region> regions_;
  std::map<std::uint32_t, Connection> connections_;
};

}  // namespace nerve::dst
