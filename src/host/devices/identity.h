// Properties that devices report both through verbs and in sysfs; the two must agree.
#pragma once

#include <cstdint>

namespace nerve::host {

inline constexpr const char* kFirmware = "nerve-0.1.0";
// IBTA PortInfo CapabilityMask: CM supported (bit 16), IP-based GIDs (bit 26).
inline constexpr std::uint32_t kPortCapabilities = 1U << 16U | 1U << 26U;
// The line rate of NicConfig in the format of sysfs.
inline constexpr const char* kRateText = "100 Gb/sec (4X EDR)\n";

// The character device numbers that Linux uses for verbs devices.
inline constexpr std::uint32_t kVerbsMajor = 231;
constexpr std::uint32_t verbs_minor(std::uint32_t index) { return 192 + index; }

}  // namespace nerve::host
