// The requester: turns work requests into request packets, one turn at a time.
//
// The send queue's cursor and RequesterState::next determine the next packet. Retransmission after
// a loss only moves these two back, so that first transmissions and retransmissions share one code
// path.
#pragma once

#include <cstdint>
#include <optional>

#include "base/slot_table.h"
#include "base/time.h"
#include "nic/burst.h"
#include "nic/counters.h"
#include "nic/direct_path.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/ethernet/port.h"
#include "nic/qp_context/address_handle.h"
#include "nic/qp_context/core.h"
#include "nic/qp_context/qp.h"
#include "nic/qp_context/scheduler.h"
#include "nic/wqe_engine/completion_unit.h"
#include "nic/wqe_engine/request_frame.h"
#include "wire/syndrome.h"

namespace nerve::nic {

class Requester {
 public:
  Requester(Core& core, const Port& port, SlotTable<AddressHandle>& addresses,
            CompletionUnit& completions)
      : core_{core}, port_{port}, addresses_{addresses}, completions_{completions} {}

  // The driver has entered transmit(). The number of bytes that one call may copy into the memory
  // of peers is bounded, because the driver has other work to do.
  void begin_call() { copy_budget_ = kCopyBudget; }
  // Whether this call has used up that number.
  [[nodiscard]] bool paused() const { return copy_budget_ == 0; }

  // Whether the QP that was served last waits for late memory.
  [[nodiscard]] bool fetches() const { return fetches_; }

  // Adds up to `budget` frames. Returns true when the QP could send more immediately. `clipped`:
  // the path has no room beyond the budget, so that the next turn may be late.
  bool transmit(Qp& qp, TxBurst& burst, std::uint32_t budget, bool clipped = false);

  // The state of the QP's send queue and what it waits for.
  [[nodiscard]] SendProgress progress(Qp& qp) const;

  // Go-back-N: resumes at the oldest unacknowledged packet. Every packet since then is rebuilt from
  // its work request, because no copy of a sent packet is kept. READs and atomics are requested
  // again, so the counters of outstanding ones restart at zero.
  static void rewind(Qp& qp);
  // Selective repeat: moves back to a packet that was sent, to retransmit it and those after it
  // that the scoreboard counts as lost.
  static void rewind_to(Qp& qp, Psn psn);

  // How long an acknowledgement may take before the QP retransmits; nullopt: no timeout.
  [[nodiscard]] std::optional<Duration> retry_timeout(const Qp& qp) const {
    return qp.selective ? selective_timeout(qp) : wire::ack_timeout(qp.attributes.timeout);
  }

  // The tail probe (tail_probe.cc): how long the QP may be idle before the next probe, and the
  // timer for it, which is armed when there is something to probe for.
  [[nodiscard]] Duration probe_interval(const Qp& qp) const;
  void arm_probe(Qp& qp) const;

  // What congestion control and the QP's own limit allow.
  [[nodiscard]] Rate rate_of(const Qp& qp) const;
  // The packets that may be queued in the network: those that have neither arrived nor been
  // trimmed.
  [[nodiscard]] static std::uint32_t in_network(const Qp& qp, const UltraEthernet& ultra);

  // Completes local operations that have reached the head of the queue, and reports a drained send
  // queue.
  void retire_local(Qp& qp);

 private:
  static constexpr std::uint32_t kCopyBudget = 256 << 10;

  [[nodiscard]] std::uint32_t ack_every() const { return core_.config.flow_control.ack_every; }

  // kPaused: it could continue, but the call has used up its direct-path bytes. kFetching: it could
  // continue, but late memory has not supplied the bytes.
  enum class Step : std::uint8_t { kSent, kSkipped, kBlocked, kPaused, kFetching };

  // Tracks whether the next frame of a turn can join the train of the previous one.
  struct Train {
    std::uint32_t size{};  // wire size of the first frame; zero: no open train
  };

  Step step(Qp& qp, TxBurst& burst, Train& train);
  Step run_local(Qp& qp, SendWqe& wqe);
  [[nodiscard]] static bool local_must_wait(const Qp& qp, const SendWqe& wqe);
  // Datagrams ask the gate one by one, since each may have another destination; connected QPs ask
  // once per turn.
  [[nodiscard]] bool room_for(Qp& qp, const SendWqe& wqe);
  [[nodiscard]] bool may_take_direct_path(const Qp& qp, const SendWqe& wqe) const;
  // kSkipped: the request was executed and completed. kBlocked: it has to be sent as packets.
  Step take_direct_path(Qp& qp, SendWqe& wqe, TxBurst& burst);
  bool write_directly(Qp& qp, SendWqe& wqe, const DirectPath::Place& place, std::uint32_t length,
                      TxBurst& burst);
  bool read_directly(Qp& qp, const SendWqe& wqe, const DirectPath::Place& place,
                     std::uint32_t length);
  [[nodiscard]] bool needs_ack(Qp& qp, bool more) const;
  [[nodiscard]] SendWait waits_for(Qp& qp) const;
  [[nodiscard]] bool ack_is_requested(const Qp& qp) const;
  void resend_last(Qp& qp, TxBurst& burst);
  // Ends a turn when tail probes are enabled.
  void end_turn(Qp& qp, TxBurst& burst, std::uint32_t first, Psn sent_before);
  void send_probe(Qp& qp, TxBurst& burst);
  // The position of the last request in flight that is answered by an ACK rather than by data; that
  // of the oldest request when there is none.
  [[nodiscard]] static std::uint32_t last_answered_by_ack(Qp& qp);
  bool resend_one(Qp& qp, std::uint32_t position, Psn psn, TxBurst& burst);
  [[nodiscard]] bool may_begin(const Qp& qp, const SendWqe& wqe) const;
  [[nodiscard]] bool has_credit(const Qp& qp, const SendWqe& wqe, std::uint32_t sequence) const;
  // At line rate the link itself paces the frames.
  [[nodiscard]] bool paced(const Qp& qp) const { return rate_of(qp) < core_.config.line_rate; }
  // The number of further packets that may be in flight. A READ is started whole when at least one
  // is left.
  [[nodiscard]] std::uint32_t window_left(const Qp& qp) const;
  [[nodiscard]] bool window_open(const Qp& qp) const;
  // Ultra Ethernet (ultra_ethernet.cc).
  enum class Sending : std::uint8_t { kFirst, kLost, kTrimmed };
  void choose_path(Qp& qp, UltraEthernet& ultra, wire::Frame& frame, Sending sending);
  [[nodiscard]] static std::uint64_t packets_behind(Qp& qp, Psn psn);
  [[nodiscard]] bool ultra_window_open(const Qp& qp, const UltraEthernet& ultra) const;
  void await_credit(Qp& qp, UltraEthernet& ultra);
  [[nodiscard]] static std::uint32_t position_of(Qp& qp, Psn psn);
  // True when more could be sent immediately.
  bool resend_trimmed(Qp& qp, UltraEthernet& ultra, TxBurst& burst, std::uint32_t budget);
  void begin(Qp& qp, SendWqe& wqe);
  // Selective repeat: advances without sending, up to `until` or to the start of the READ that
  // contains it.
  static void skip_to(Qp& qp, Psn until);
  // Selective repeat: advances to the next packet to be retransmitted, or to new packets.
  static void skip_arrived(Qp& qp);
  [[nodiscard]] std::optional<Duration> selective_timeout(const Qp& qp) const;
  void note_timer(Qp& qp);
  Step emit(Qp& qp, SendWqe& wqe, TxBurst& burst, Train& train);
  // Adds a packet's payload from late memory.
  [[gnu::noinline]] Gathered fetch(Qp& qp, std::uint32_t position, const Segment& segment,
                                   TxBurst& burst);
  // The next packet waits for memory.
  [[gnu::noinline]] Step fetching(Qp& qp);
  [[nodiscard]] bool reads_late_memory(const Qp& qp) const;
  // The direct path between late memories: whether to try it, whether to wait for it, and whether
  // it has begun.
  [[nodiscard]] bool suits_late_copy(const Qp& qp, const SendWqe& wqe) const;
  [[nodiscard]] bool waits_to_copy(const Qp& qp, const SendWqe& wqe) const;
  [[nodiscard]] bool copy_late(Qp& qp, SendWqe& wqe);
  // Fills the frame added last with packet `psn` of the request at `position` in the queue.
  // Nothing: late memory has not supplied the bytes.
  std::optional<WcStatus> build(Qp& qp, std::uint32_t position, Psn psn, TxBurst& burst);
  // The middle packets of a long message differ only in PSN and address, so one access check and
  // the headers of the previous frame serve a run of them.
  void repeat_middle(Qp& qp, TxBurst& burst, std::uint32_t room);
  bool address(Qp& qp, const SendWqe& wqe, wire::Frame& frame);
  void advance(Qp& qp, SendWqe& wqe, std::uint32_t packets);
  void note_sent(Qp& qp, const wire::Frame& frame, bool again);
  void note_retransmitted(Qp& qp, std::uint32_t packets);
  void fault(Qp& qp, SendWqe& wqe, WcStatus status);

  Core& core_;
  const Port& port_;
  SlotTable<AddressHandle>& addresses_;
  CompletionUnit& completions_;
  bool fetches_{};
  std::uint32_t copy_budget_{};  // bytes that this call may still copy
};

// The distance from `from` to `to`, going forward around the ring.
[[nodiscard]] constexpr std::uint32_t psn_span(Psn from, Psn to) {
  return (to.value() - from.value()) & 0xff'ffffU;
}

// Whether the PSN lies within [unacked, sent_end), that is, belongs to an outstanding packet.
[[nodiscard]] constexpr bool in_flight(const RequesterState& state, Psn psn) {
  return psn_span(state.unacked, psn) < psn_span(state.unacked, state.sent_end);
}

}  // namespace nerve::nic
