// Errors that the engine returns to its caller, detected as early as possible. The verbs layer maps
// the code to an errno and prints the rest.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace nerve::nic {

enum class ErrorCode : std::uint8_t {
  kInvalid,       // EINVAL: a wrong argument or combination of arguments
  kNoSuchObject,  // EINVAL: a stale or null handle
  kBusy,          // EBUSY: still used by another object
  kLimit,         // ENOMEM: a device limit is reached
  kQueueFull,     // ENOMEM: no free slot in a work queue
  kNotSupported,  // EOPNOTSUPP
  kPermission,    // EPERM
};

struct Error {
  ErrorCode code{};
  const char* reason{};   // a literal: "modify to rtr: missing rq_psn"
  std::uint64_t value{};  // the value given, where a number helps
  std::uint64_t limit{};  // the largest value allowed
};

template <class T>
using Expected = Result<T, Error>;

// For calls that return no value but may fail.
struct Done {};
using Status = Expected<Done>;

inline Unexpected<Error> refuse(ErrorCode code, const char* reason, std::uint64_t value = 0,
                                std::uint64_t limit = 0) {
  return Unexpected{Error{code, reason, value, limit}};
}

}  // namespace nerve::nic
