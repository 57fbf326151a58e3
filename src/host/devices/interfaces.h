// The machine's network interfaces, with the properties that a device needs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/gid.h"

namespace nerve::host {

struct Interface {
  std::string name;
  std::uint32_t index{};
  std::uint32_t mtu{};
  bool up{};
  bool loopback{};
  std::array<std::byte, 6> mac{};
  std::vector<wire::Gid> addresses;  // link-local IPv6, then IPv4, then other IPv6
};

[[nodiscard]] std::vector<Interface> list_interfaces();

}  // namespace nerve::host
