// A question to every process of the host at once, for who has what is wanted is not known, and one
// that is stopped or busy must not hold up the rest.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "host/peers/greeting.h"
#include "host/peers/unix_socket.h"

namespace nerve::host {

enum class Asked : std::uint8_t {
  kFound,
  kNobody,   // all that there are have answered, and none had it
  kSilence,  // ... or some have not answered in time
};

// Each answer is given to `take`, until that says it has what was wanted.
[[nodiscard]] Asked ask_all(std::uint32_t own_slot, RequestKind what,
                            std::chrono::milliseconds patience,
                            const std::function<bool(Message&)>& take);

}  // namespace nerve::host
