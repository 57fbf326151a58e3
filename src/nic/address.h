// The address of a peer. RoCE uses the GID; the LID fields are reserved for an InfiniBand port.
#pragma once

#include <cstdint>

#include "wire/gid.h"

namespace nerve::nic {

struct AddressVector {
  wire::Gid destination{};
  std::uint8_t source_gid_index{};
  std::uint8_t traffic_class{};
  std::uint8_t hop_limit{64};
  std::uint32_t flow_label{};  // 20 bits; determines the UDP source port
  std::uint8_t service_level{};
  std::uint8_t port{1};
  bool is_global{true};  // RoCE always has a GRH
  std::uint16_t destination_lid{};
  friend bool operator==(const AddressVector&, const AddressVector&) = default;
};

}  // namespace nerve::nic
