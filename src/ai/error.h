// What can go wrong in a group: a sentence with the value and the fix, and the rank it is about.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "base/result.h"

namespace nerve::ai {

struct Error {
  enum class Kind {
    kUsage,        // the caller's arguments
    kSystem,       // the operating system or the device refused
    kTimeout,      // a peer did not come, or did not answer in time
    kPeerDied,     // the process of `rank` ended, or its host is unreachable
    kProtocol,     // a peer or the rendezvous sent something invalid
    kInterrupted,  // the caller asked to stop waiting
  };
  static constexpr int kNoRank = -1;

  Kind kind{Kind::kSystem};
  std::string text;
  int rank{kNoRank};
};

struct Done {};
using Status = Result<Done, Error>;

inline Unexpected<Error> failure(Error::Kind kind, std::string text, int rank = Error::kNoRank) {
  return Unexpected{Error{kind, std::move(text), rank}};
}

// An address as errors show it.
inline std::string address_text(const void* address) {
  char text[24];
  (void)std::snprintf(text, sizeof text, "0x%llx",
                      static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address)));
  return text;
}

// The error of a failed result, as the result of another type.
template <class T>
Unexpected<Error> passed_on(const Result<T, Error>& failed) {
  return Unexpected{failed.error()};
}

}  // namespace nerve::ai
