// Parsers for the values of settings: switches, numbers, sizes, lists of devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "host/devices/device.h"

namespace nerve::host {

// on, yes, true, 1; off, no, false, 0.
[[nodiscard]] std::optional<bool> parse_switch(std::string_view text);

// A decimal number from `least` to `most`, inclusive.
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text, std::uint64_t least,
                                                       std::uint64_t most);

// The same with an optional suffix K, M or G, in steps of 1024.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text, std::uint64_t least,
                                                      std::uint64_t most);

// "nerve0=eth0,nerve1=lo"; an interface without a name becomes nerve<N>, N being its place in the
// list.
[[nodiscard]] std::optional<std::vector<DeviceName>> parse_devices(std::string_view text);

}  // namespace nerve::host
