// Mistakes that the test program makes on purpose, in place of the library, to show that the model
// detects them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace worlds {

enum class Mistake : std::uint8_t {
  kNone,
  kByte,   // one byte of the memory is wrong
  kStale,  // an executed WRITE is undone, as by an old duplicate
  kLost,   // a completion is lost
  kTwice,  // a completion comes twice
  kOrder,  // two completions are swapped
  kEvent,  // a completion event is lost
};

struct Plant {
  Mistake mistake{};
  std::uint32_t countdown{};  // the mistake is made when this reaches zero

  // True if this mistake is to be made now. Each is made once.
  [[nodiscard]] bool now(Mistake which) {
    if (mistake != which || countdown-- > 0) return false;
    mistake = Mistake::kNone;
    return true;
  }
};

[[nodiscard]] inline std::optional<Mistake> mistake_by_name(std::string_view name) {
  if (name == "byte") return Mistake::kByte;
  if (name == "stale") return Mistake::kStale;
  if (name == "lost") return Mistake::kLost;
  if (name == "twice") return Mistake::kTwice;
  if (name == "order") return Mistake::kOrder;
  if (name == "event") return Mistake::kEvent;
  return std::nullopt;
}

}  // namespace worlds
