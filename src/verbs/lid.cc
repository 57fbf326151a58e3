#include "verbs/lid.h"

#include <optional>

namespace nerve::verbs {
namespace {

struct Own {
  std::uint8_t index;
  wire::Gid gid;
};

std::optional<Own> first_ipv4(const nic::Nic& nic) {
  for (std::uint32_t i = 0; i < nic.config().gid_table_size; ++i) {
    if (const auto gid = nic.query_gid(i); gid && gid->is_ipv4()) {
      return Own{static_cast<std::uint8_t>(i), *gid};
    }
  }
  return std::nullopt;
}

}  // namespace

std::uint16_t lid_of(const nic::Nic& nic) {
  const auto own = first_ipv4(nic);
  if (!own) return 0;
  const auto byte = [&](std::size_t at) {
    return std::to_integer<std::uint32_t>(own->gid.bytes[at]);
  };
  return static_cast<std::uint16_t>(byte(14) << 8U | byte(15));
}

nic::AddressVector with_gid(const nic::Nic& nic, nic::AddressVector address) {
  if (address.is_global || address.destination_lid == 0) return address;
  const auto own = first_ipv4(nic);
  if (!own) return address;
  constexpr std::uint8_t kHopLimit = 64;
  address.destination = own->gid;
  address.destination.bytes[14] = static_cast<std::byte>(address.destination_lid >> 8U);
  address.destination.bytes[15] = static_cast<std::byte>(address.destination_lid & 0xffU);
  address.source_gid_index = own->index;
  address.hop_limit = kHopLimit;
  address.traffic_class = 0;
  address.flow_label = 0;
  address.is_global = true;
  return address;
}

}  // namespace nerve::verbs
