// Outgoing MADs: the frames around them, and answers that belong to no communication.
//
// An answer without a communication (a REJ for an unknown service) is queued until the next
// transmit(). The queue is short: answers beyond it are dropped, and a peer that retries gets one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "nic/burst.h"
#include "nic/counters.h"
#include "nic/ethernet/port.h"
#include "nic/trace.h"
#include "wire/cm_mad.h"
#include "wire/frame.h"

namespace nerve::nic {

void trace_mad(Trace& trace, TraceStep step, const wire::Frame& frame, const wire::CmMad& mad);

class MadOutbox {
 public:
  MadOutbox(Counters& counters, const Port& port, Trace* trace)
      : counters_{counters}, port_{port}, trace_{trace} {}

  [[nodiscard]] bool empty() const { return count_ == 0; }
  // Dropped when the queue is full.
  void add(const wire::Flow& flow, const wire::CmMad& mad);

  // The bytes put into a burst stay valid until the next begin().
  void begin() { used_ = 0; }
  [[nodiscard]] bool has_room(const TxBurst& burst) const {
    return used_ < kBuffers && !burst.full();
  }
  // Requires has_room(). On a port that is down the MAD is dropped.
  void put(TxBurst& burst, const wire::Flow& flow, const wire::CmMad& mad);
  void put_answers(TxBurst& burst);

 private:
  static constexpr std::uint32_t kBuffers = 16;
  static constexpr std::uint32_t kAnswers = 64;

  struct Answer {
    wire::Flow flow;
    wire::CmMad mad;
  };
  // Allocated when first needed: most engines never send MADs.
  struct Room {
    std::array<std::array<std::byte, wire::CmMad::kSize>, kBuffers> buffers;
    std::array<Answer, kAnswers> answers;
  };
  Room& room();

  std::uint32_t count_{};  // of answers
  std::uint32_t head_{};
  std::uint32_t used_{};
  Psn psn_{};
  std::unique_ptr<Room> room_;
  Counters& counters_;
  const Port& port_;
  Trace* trace_;
};

}  // namespace nerve::nic
