#include "nic/ethernet/port.h"

#include <algorithm>

namespace nerve::nic {

Port::Port(const NicConfig& config, EventQueue& events)
    : events_{events}, gids_(config.gid_table_size) {
  for (const std::uint16_t pkey : config.pkeys) pkeys_.emplace_back(pkey);
}

Status Port::set_gid(std::uint32_t index, const wire::Gid& gid) {
  if (index >= gids_.size()) {
    return refuse(ErrorCode::kInvalid, "set gid: index beyond the table", index, gids_.size());
  }
  if (gid.is_multicast()) return refuse(ErrorCode::kInvalid, "set gid: a multicast address");
  if (gids_[index] == gid) return Done{};
  gids_[index] = gid;
  events_.push({.kind = EventKind::kGidChange});
  return Done{};
}

Expected<wire::Gid> Port::gid(std::uint32_t index) const {
  if (index >= gids_.size()) {
    return refuse(ErrorCode::kInvalid, "query gid: index beyond the table", index, gids_.size());
  }
  return gids_[index];
}

bool Port::owns(const wire::Gid& gid) const {
  return !gid.is_zero() && std::find(gids_.begin(), gids_.end(), gid) != gids_.end();
}

void Port::set_active(bool active) {
  if (active_ == active) return;
  active_ = active;
  events_.push({.kind = active ? EventKind::kPortActive : EventKind::kPortError});
}

std::optional<PKey> Port::pkey(std::uint32_t index) const {
  if (index >= pkeys_.size()) return std::nullopt;
  return pkeys_[index];
}

std::optional<std::uint16_t> Port::match_pkey(PKey received) const {
  for (std::size_t i = 0; i < pkeys_.size(); ++i) {
    if (same_partition(pkeys_[i], received)) return static_cast<std::uint16_t>(i);
  }
  return std::nullopt;
}

Expected<wire::Flow> Port::flow_to(const AddressVector& address) const {
  if (address.port != 1) {
    return refuse(ErrorCode::kInvalid, "address: no such port", address.port, 1);
  }
  if (!address.is_global) return refuse(ErrorCode::kInvalid, "address: RoCE needs a GRH");
  if (address.source_gid_index >= gids_.size() || gids_[address.source_gid_index].is_zero()) {
    return refuse(ErrorCode::kInvalid, "address: no GID at this index", address.source_gid_index,
                  gids_.size());
  }
  if (address.destination.is_zero()) return refuse(ErrorCode::kInvalid, "address: no GID given");
  const wire::Gid& source = gids_[address.source_gid_index];
  if (source.is_ipv4() != address.destination.is_ipv4()) {
    return refuse(ErrorCode::kInvalid, "address: IPv4 and IPv6 GIDs do not meet",
                  address.source_gid_index);
  }
  return wire::Flow{.source = source,
                    .destination = address.destination,
                    .traffic_class = address.traffic_class,
                    .hop_limit = address.hop_limit == 0 ? std::uint8_t{64} : address.hop_limit,
                    .flow_label = address.flow_label & 0xf'ffffU};
}

std::uint16_t source_port(std::uint32_t flow_label, Qpn local, Qpn remote) {
  std::uint64_t label = flow_label & 0xf'ffffU;
  if (label == 0) {
    label = std::uint64_t{local.value()} * remote.value();
    label ^= label >> 20U;
    label ^= label >> 40U;
    label &= 0xf'ffffU;
  }
  const std::uint64_t folded = (label & 0x3fffU) ^ (label >> 14U);
  return static_cast<std::uint16_t>(kFirstSourcePort | (folded & 0x3fffU));
}

std::optional<std::uint32_t> flow_label_for(std::uint16_t port) {
  if (port < kFirstSourcePort) return std::nullopt;
  const std::uint32_t low = port & 0x3fffU;
  // The upper six bits of a label are folded onto the lower ones. Label zero stands for none.
  return low != 0 ? low : 1U << 14U | 1U;
}

std::uint16_t datagram_source_port(Qpn local) {
  return static_cast<std::uint16_t>(0xc000U + (local.value() * 0x61c88647U >> 18U));
}

}  // namespace nerve::nic
