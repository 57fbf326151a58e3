// Why a call into the engine was refused: the caller's fault, told at the first place that can
// see it. The verbs layer turns the code into an errno and prints the rest.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace nerve::nic {

enum class ErrorCode : std::uint8_t {
  kInvalid,       // EINVAL: an argument or a combination of them is wrong
  kNoSuchObject,  // EINVAL: a handle that names nothing
  kBusy,          // EBUSY: still used by another object
  kLimit,         // ENOMEM: a device limit is reached
  kQueueFull,     // ENOMEM: no free slot in a work queue
  kNotSupported,  // EOPNOTSUPP
  kPermission,    // EPERM
};

struct Error {
  ErrorCode code{};
  const char* reason{};   // a literal: "modify to rtr: missing rq_psn"
  std::uint64_t value{};  // what was given, where a number says more
  std::uint64_t limit{};  // what would have been allowed
};

template <class T>
using Expected = Result<T, Error>;

// For calls that return nothing but may be refused.
struct Done {};
using Status = Expected<Done>;

inline Unexpected<Error> refuse(ErrorCode code, const char* reason, std::uint64_t value = 0,
                                std::uint64_t limit = 0) {
  return Unexpected{Error{code, reason, value, limit}};
}

}  // namespace nerve::nic
