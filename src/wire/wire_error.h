// Errors of decoding a packet. They are the peer's fault: a value, never a CHECK.
#pragma once

#include <cstdint>

namespace nerve::wire {

enum class WireError : std::uint8_t {
  kTruncated,    // fewer bytes than the headers or their length fields require
  kBadLength,    // a length field that contradicts another
  kNotRoce,      // a well-formed packet that is not RoCEv2
  kBadField,     // a value that the format does not allow
  kUnsupported,  // well formed, but not supported
};

[[nodiscard]] const char* to_string(WireError error);

}  // namespace nerve::wire
