// MADs on their way out: the frames around them, and answers that belong to no communication.
//
// An answer from nowhere (a REJ for a service that nobody offers) is kept until there is a turn to
// send it. There is room for a few: who floods us gets silence, who asks again gets an answer.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "nic/burst.h"
#include "nic/counters.h"
#include "nic/ethernet/port.h"
#include "wire/cm_mad.h"
#include "wire/frame.h"

namespace nerve::nic {

class MadOutbox {
 public:
  MadOutbox(Counters& counters, const Port& port) : counters_{counters}, port_{port} {}

  [[nodiscard]] bool empty() const { return count_ == 0; }
  // Dropped when there is no room.
  void add(const wire::Flow& flow, const wire::CmMad& mad);

  // Until the next begin() the bytes of what is put into a burst stay where they are.
  void begin() { used_ = 0; }
  [[nodiscard]] bool has_room(const TxBurst& burst) const {
    return used_ < kBuffers && !burst.full();
  }
  // While there is room. On a port that is down it goes nowhere.
  void put(TxBurst& burst, const wire::Flow& flow, const wire::CmMad& mad);
  void put_answers(TxBurst& burst);

 private:
  static constexpr std::uint32_t kBuffers = 16;
  static constexpr std::uint32_t kAnswers = 64;

  struct Answer {
    wire::Flow flow;
    wire::CmMad mad;
  };
  // Made when first needed: most engines never have a word to say here.
  struct Room {
    std::array<std::array<std::byte, wire::CmMad::kSize>, kBuffers> buffers;
    std::array<Answer, kAnswers> answers;
  };
  Room& room();

  Counters& counters_;
  const Port& port_;
  std::unique_ptr<Room> room_;
  std::uint32_t used_{};
  std::uint32_t head_{};
  std::uint32_t count_{};
  Psn psn_{};
};

}  // namespace nerve::nic
