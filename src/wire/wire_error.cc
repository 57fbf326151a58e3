#include "wire/wire_error.h"

namespace nerve::wire {

const char* to_string(WireError error) {
  switch (error) {
    case WireError::kTruncated:
      return "truncated";
    case WireError::kBadLength:
      return "inconsistent length";
    case WireError::kNotRoce:
      return "not RoCEv2";
    case WireError::kBadField:
      return "invalid field";
    case WireError::kUnsupported:
      return "not supported";
  }
  return "unknown";
}

}  // namespace nerve::wire
