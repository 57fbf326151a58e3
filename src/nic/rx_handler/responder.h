// The responder of connected QPs: executes the peer's requests, in order and exactly once.
//
// A request packet passes a series of checks; the first that fails determines the answer. Answers
// are not sent here: the responder records what is due (an ACK, a NAK, entries of the replay
// cache), and answers.cc builds the frames in the QP's turn. One record serves many packets, which
// is how acknowledgements coalesce.
#pragma once

#include <span>

#include "base/time.h"
#include "nic/counters.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/qp_context/core.h"
#include "nic/qp_context/qp.h"
#include "nic/qp_context/qp_trace.h"
#include "nic/qp_context/scheduler.h"
#include "nic/rx_handler/credit_granter.h"
#include "nic/rx_handler/receives.h"
#include "nic/wqe_engine/completion_unit.h"
#include "wire/frame.h"
#include "wire/syndrome.h"

namespace nerve::nic {

// The result of executing a packet.
enum class Verdict : std::uint8_t {
  kAccepted,
  kNoReceive,  // RNR
  kInvalidRequest,
  kMtuMismatch,  // an invalid request, too
  kRemoteAccess,
  kRemoteOperation,
  kTooLong,  // longer than the receive
  kDropped,
};

class Responder {
 public:
  Responder(Core& core, Receives& receives, CompletionUnit& completions, CreditGranter& granter)
      : core_{core}, receives_{receives}, completions_{completions}, granter_{granter} {}

  void on_request(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info);

  // A request packet without its payload, for a reliable QP and close to the expected PSN.
  void on_trimmed(Qp& qp, const wire::Frame& frame);

  // Whether a packet is so many PSNs ahead of the expected one, or behind it (negative), that the
  // peer cannot have sent it.
  [[nodiscard]] static bool is_far(std::int32_t ahead, const wire::OpcodeInfo& info);

  // `frames` starts with a middle packet of a WRITE that was just accepted. Executes those behind
  // it that continue the WRITE and differ only in PSN and payload; returns how many. A long WRITE
  // is thus checked once per run of packets instead of once per packet.
  std::size_t continue_write(Qp& qp, std::span<const wire::Frame> frames);

 private:
  struct Packet {
    const wire::Frame& frame;
    const wire::OpcodeInfo& info;
    [[nodiscard]] bool opens() const {
      return info.position == wire::Position::kFirst || info.position == wire::Position::kOnly;
    }
    [[nodiscard]] bool closes() const {
      return info.position == wire::Position::kLast || info.position == wire::Position::kOnly;
    }
  };

  void note_arrival(Qp& qp, const wire::Frame& frame);
  void on_reliable(Qp& qp, const Packet& packet);
  // Executes the expected packet. Returns false when it was rejected.
  bool take_in_order(Qp& qp, const Packet& packet);
  // Ultra Ethernet: notes the path and the demand of a packet.
  void note_ultra_ethernet(Qp& qp, UltraEthernet& ultra, const wire::Frame& frame);
  void nak_sequence_error(Qp& qp);
  // Selective repeat: holds a packet that is `ahead` PSNs ahead of the expected one, and executes
  // the held packets that have become due.
  void hold(Qp& qp, const Packet& packet, std::uint32_t ahead);
  void execute_held(Qp& qp);
  void on_unreliable(Qp& qp, const Packet& packet);
  // UC: whether the QP has had so many wrong keys that its WRITEs are dropped for a moment.
  [[nodiscard]] bool is_barred(const Qp& qp, const Packet& packet) const;
  void note_wrong_key(Qp& qp);

  [[nodiscard]] static bool in_sequence(const Qp& qp, const Packet& packet);
  [[nodiscard]] static bool length_fits(const Qp& qp, const Packet& packet);
  [[nodiscard]] static Verdict wrong_length(const Packet& packet);

  Verdict execute(Qp& qp, const Packet& packet);
  Verdict send(Qp& qp, const Packet& packet);
  Verdict write(Qp& qp, const Packet& packet);
  Verdict read(Qp& qp, const Packet& packet);
  Verdict atomic(Qp& qp, const Packet& packet);
  Verdict atomic_write(Qp& qp, const Packet& packet);
  Verdict flush(Qp& qp, const Packet& packet);

  void accept(Qp& qp, const Packet& packet);
  void refuse(Qp& qp, const Packet& packet, Verdict verdict);
  void deliver(Qp& qp, const Packet& packet, WcOpcode opcode, std::uint32_t bytes);
  // Allocates an entry of the replay cache; null when the peer exceeds max_dest_rd_atomic.
  ReplayEntry* new_replay_entry(Qp& qp);

  void on_duplicate(Qp& qp, const Packet& packet);
  void replay(Qp& qp, const Packet& packet);
  void schedule_nak(Qp& qp, std::uint8_t nak_syndrome);
  // Traces a step of the message that the packet belongs to.
  void note(Qp& qp, const Packet& packet, TraceStep step) const {
    if (traces_messages(core_.trace, qp)) [[unlikely]]
      trace_message(*core_.trace, qp, step, packet.frame);
  }

  Core& core_;
  Receives& receives_;
  CompletionUnit& completions_;
  CreditGranter& granter_;
};

}  // namespace nerve::nic
