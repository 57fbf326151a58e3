// The requester: turns work requests into request packets, a turn at a time.
//
// What it sends next is told by the send queue's cursor and RequesterState::next; going back after
// a loss only moves those two, so that sending again and sending for the first time are one path.
#pragma once

#include <cstdint>
#include <optional>

#include "base/slot_table.h"
#include "base/time.h"
#include "nic/burst.h"
#include "nic/config.h"
#include "nic/counters.h"
#include "nic/cq_manager/completion_unit.h"
#include "nic/direct_path.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/ethernet/port.h"
#include "nic/qp_manager/address_handle.h"
#include "nic/qp_manager/qp.h"
#include "nic/wqe_engine/scheduler.h"
#include "wire/syndrome.h"

namespace nerve::nic {

class Requester {
 public:
  Requester(const NicConfig& config, Counters& counters, DmaEngine& dma, const Port& port,
            SlotTable<AddressHandle>& addresses, CompletionUnit& completions, Scheduler& scheduler,
            const Time& now)
      : config_{config},
        counters_{counters},
        dma_{dma},
        port_{port},
        addresses_{addresses},
        completions_{completions},
        scheduler_{scheduler},
        now_{now} {}

  // A new call of the driver's begins. What it may copy into peers' memory itself is bounded, for
  // the driver has other things to do.
  void begin_call() { placeable_ = kPlaceablePerCall; }
  // Nothing more can be copied in this call.
  [[nodiscard]] bool paused() const { return placeable_ == 0; }

  // Adds up to `budget` frames. True when the QP could send more right now. `clipped`: the path has
  // no room beyond the budget, so that the next turn may be late.
  bool transmit(Qp& qp, TxBurst& burst, std::uint32_t budget, bool clipped = false);

  // How far the QP is, and what it waits for.
  [[nodiscard]] SendProgress progress(Qp& qp) const;

  // Back to the oldest unacknowledged packet.
  static void rewind(Qp& qp);
  // Selective repeat: back to a packet that was sent, to send it again and no others but those that
  // the scoreboard counts as lost.
  static void go_to(Qp& qp, Psn psn);

  // How long an answer may take before something is sent again; none: for ever.
  [[nodiscard]] std::optional<Duration> patience(const Qp& qp) const {
    return qp.selective ? selective_patience(qp) : wire::ack_timeout(qp.attributes.timeout);
  }

  // The tail probe (tail_probe.cc): how long nothing may be heard before the next one; and the
  // timer for it, if there is something to probe for.
  [[nodiscard]] Duration probe_interval(const Qp& qp) const;
  void arm_probe(Qp& qp) const;

  // Completes local operations that have come to the head, and notes a drained send queue.
  void retire_local(Qp& qp);

 private:
  static constexpr std::uint32_t kPlaceablePerCall = 256 << 10;

  [[nodiscard]] std::uint32_t ack_every() const { return config_.flow_control.ack_every; }

  // kPaused: it could go on, but has used what the call may take.
  enum class Step : std::uint8_t { kSent, kSkipped, kBlocked, kPaused };

  // The frames of one turn: whether the next may ride in the same train as the one before.
  struct Train {
    std::uint32_t size{};  // bytes of the first frame on the wire; zero: no open train
  };

  Step step(Qp& qp, TxBurst& burst, Train& train);
  Step run_local(Qp& qp, SendWqe& wqe);
  [[nodiscard]] static bool local_must_wait(const Qp& qp, const SendWqe& wqe);
  // Datagrams ask the gate one by one, for each may go elsewhere; connected QPs ask once a turn.
  [[nodiscard]] bool room_for(Qp& qp, const SendWqe& wqe);
  [[nodiscard]] bool may_take_direct_path(const Qp& qp, const SendWqe& wqe) const;
  // kSkipped: the request is done and gone. kBlocked: it cannot be done in this way.
  Step take_direct_path(Qp& qp, SendWqe& wqe, TxBurst& burst);
  bool write_directly(Qp& qp, SendWqe& wqe, const DirectPath::Place& place, std::uint32_t length,
                      TxBurst& burst);
  bool read_directly(Qp& qp, const SendWqe& wqe, const DirectPath::Place& place,
                     std::uint32_t length);
  [[nodiscard]] bool needs_ack(Qp& qp, bool more) const;
  [[nodiscard]] SendWait waits_for(Qp& qp) const;
  [[nodiscard]] bool ack_is_requested(const Qp& qp) const;
  void resend_last(Qp& qp, TxBurst& burst);
  // The end of a turn, where there are tail probes.
  void note_turn(Qp& qp, TxBurst& burst, std::uint32_t first, Psn sent_before);
  void send_probe(Qp& qp, TxBurst& burst);
  // The last request on its way that is not answered by data, by its position in the queue; the
  // oldest when there is none.
  [[nodiscard]] static std::uint32_t last_answered_by_ack(Qp& qp);
  bool resend_one(Qp& qp, std::uint32_t position, Psn psn, TxBurst& burst);
  [[nodiscard]] bool may_begin(const Qp& qp, const SendWqe& wqe) const;
  [[nodiscard]] bool has_credit(const Qp& qp, const SendWqe& wqe, std::uint32_t sequence) const;
  [[nodiscard]] Rate rate_of(const Qp& qp) const;
  // At line rate the link itself spaces the frames.
  [[nodiscard]] bool paced(const Qp& qp) const { return rate_of(qp) < config_.line_rate; }
  // How many packets may be out besides those that are; a READ goes whole where there is one left.
  [[nodiscard]] std::uint32_t window_left(const Qp& qp) const;
  [[nodiscard]] bool window_open(const Qp& qp) const;
  void begin(Qp& qp, SendWqe& wqe);
  // Selective repeat: forwards without sending, to `until`, or to the READ that it lies in; and to
  // the next packet that is to be sent again, or to new ones.
  static void pass_over(Qp& qp, Psn until);
  static void pass_over_arrived(Qp& qp);
  [[nodiscard]] std::optional<Duration> selective_patience(const Qp& qp) const;
  void note_timer(Qp& qp);
  bool emit(Qp& qp, SendWqe& wqe, TxBurst& burst, Train& train);
  // Fills the frame last added with the packet `psn` of the request at `position` in the queue.
  WcStatus build(Qp& qp, std::uint32_t position, Psn psn, TxBurst& burst);
  // The middle packets of a long message differ in PSN and place alone: one check and the headers
  // of the frame before serve a run of them.
  void repeat_middle(Qp& qp, TxBurst& burst, std::uint32_t room);
  bool address(Qp& qp, const SendWqe& wqe, wire::Frame& frame);
  void advance(Qp& qp, SendWqe& wqe, std::uint32_t packets);
  void note_sent(Qp& qp, const wire::Frame& frame, bool again);
  void fault(Qp& qp, SendWqe& wqe, WcStatus status);

  const NicConfig& config_;
  Counters& counters_;
  DmaEngine& dma_;
  const Port& port_;
  SlotTable<AddressHandle>& addresses_;
  CompletionUnit& completions_;
  Scheduler& scheduler_;
  const Time& now_;
  std::uint32_t placeable_{};  // bytes, in this call
};

// Steps from `from` to `to` going forward round the ring.
[[nodiscard]] constexpr std::uint32_t psn_span(Psn from, Psn to) {
  return (to.value() - from.value()) & 0xff'ffffU;
}

// Within [unacked, sent_end): an answer to something that is really in flight.
[[nodiscard]] constexpr bool in_flight(const RequesterState& state, Psn psn) {
  return psn_span(state.unacked, psn) < psn_span(state.unacked, state.sent_end);
}

}  // namespace nerve::nic
