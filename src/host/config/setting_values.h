// The values of settings, read from text: words, switches, numbers, sizes, lists of devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "host/devices/device.h"

namespace nerve::host {

// on, yes, true, 1; off, no, false, 0.
[[nodiscard]] std::optional<bool> parse_switch(std::string_view text);

// A decimal number from `least` to `most`.
[[nodiscard]] std::optional<std::uint64_t> parse_count(std::string_view text, std::uint64_t least,
                                                       std::uint64_t most);

// The same with K, M or G behind it, in steps of 1024.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text, std::uint64_t least,
                                                      std::uint64_t most);

// "nerve0=eth0,nerve1=lo"; an interface alone gets the next name of ours.
[[nodiscard]] std::optional<std::vector<DeviceName>> parse_devices(std::string_view text);

}  // namespace nerve::host
