// How often calls of other users' processes are accepted.
//
// Any process of the machine can connect to our abstract name. A stranger's connection is closed at
// once, but accepting it costs some microseconds. After several in a row we rest: pending
// connections wait, those of strangers and of our own processes alike. So the rest is short, unless
// our own processes call at a name in a private folder.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace nerve::host {

class StrangerLimit {
 public:
  static constexpr std::uint32_t kInARow = 64;
  static constexpr Duration kRest = std::chrono::milliseconds{2};
  static constexpr Duration kLongRest = std::chrono::milliseconds{50};
  // Strangers that call less often than this do not add up.
  static constexpr Duration kForgotten = std::chrono::milliseconds{10};

  explicit StrangerLimit(Duration rest = kRest) : rest_{rest} {}

  // A stranger has called. Returns how long to rest, if it is time for that.
  [[nodiscard]] std::optional<Duration> called(Time now) {
    if (now - last_ > kForgotten) in_a_row_ = 0;
    last_ = now;
    if (++in_a_row_ < kInARow) return std::nullopt;
    in_a_row_ = 0;
    return rest_;
  }

 private:
  Duration rest_;
  Time last_{};
  std::uint32_t in_a_row_{};
};

}  // namespace nerve::host
