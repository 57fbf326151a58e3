// Sends a request to every process of the host at once. It is not known which process has the
// object, and one that is stopped or busy must not delay the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "host/peers/greeting.h"
#include "host/peers/unix_socket.h"

namespace nerve::host {

enum class Asked : std::uint8_t {
  kFound,
  kNobody,   // all have answered, and none had it
  kSilence,  // some have not answered in time
};

// Passes each answer to `take`, until that returns true.
[[nodiscard]] Asked ask_all(std::uint32_t own_slot, RequestKind what,
                            std::chrono::milliseconds patience,
                            const std::function<bool(Message&)>& take);

// The same of whoever is at these names.
[[nodiscard]] Asked ask_names(std::span<const std::string> names, const Request& request,
                              std::chrono::milliseconds patience,
                              const std::function<bool(Message&)>& take);

}  // namespace nerve::host
