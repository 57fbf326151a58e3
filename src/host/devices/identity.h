// What our devices say of themselves, in verbs and in the files by which Linux shows devices: the
// two must agree.
#pragma once

#include <cstdint>

namespace nerve::host {

inline constexpr const char* kFirmware = "nerve-0.1.0";
// IBTA PortInfo: the CM is there (bit 16), GIDs are IP addresses (bit 26).
inline constexpr std::uint32_t kPortCapabilities = 1U << 16U | 1U << 26U;
// The line rate of NicConfig, in sysfs's words.
inline constexpr const char* kRateText = "100 Gb/sec (4X EDR)\n";

// Where Linux has its verbs devices among character devices.
inline constexpr std::uint32_t kVerbsMajor = 231;
constexpr std::uint32_t verbs_minor(std::uint32_t index) { return 192 + index; }

}  // namespace nerve::host
