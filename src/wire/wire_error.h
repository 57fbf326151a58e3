// Why bytes could not be read as a packet. The peer's fault: a value, never a CHECK.
#pragma once

#include <cstdint>

namespace nerve::wire {

enum class WireError : std::uint8_t {
  kTruncated,    // fewer bytes than the headers or the lengths in them need
  kBadLength,    // a length field that contradicts another
  kNotRoce,      // a well-formed packet that is not RoCEv2
  kBadField,     // a value the format does not allow
  kUnsupported,  // well formed, and something we do not do
};

[[nodiscard]] const char* to_string(WireError error);

}  // namespace nerve::wire
