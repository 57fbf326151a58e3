// The responder of connected QPs: executes the peer's requests, in order and exactly once.
//
// A request packet passes named checks; the first that fails decides the answer. Answers are not
// sent here: the responder notes what is due (an ACK, a NAK, entries of the replay ring) and
// answers.cc turns that into frames when the QP has its turn. One note serves many packets, which
// is how acknowledgements coalesce.
#pragma once

#include <span>

#include "base/time.h"
#include "nic/config.h"
#include "nic/counters.h"
#include "nic/cq_manager/completion_unit.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/qp_manager/qp.h"
#include "nic/rx_handler/receives.h"
#include "nic/wqe_engine/scheduler.h"
#include "wire/frame.h"
#include "wire/syndrome.h"

namespace nerve::nic {

// What one packet came to.
enum class Verdict : std::uint8_t {
  kAccepted,
  kNoReceive,  // RNR
  kInvalidRequest,
  kRemoteAccess,
  kRemoteOperation,
  kTooLong,  // for the receive it took
  kDropped,
};

class Responder {
 public:
  Responder(Counters& counters, DmaEngine& dma, Receives& receives, CompletionUnit& completions,
            Scheduler& scheduler)
      : counters_{counters},
        dma_{dma},
        receives_{receives},
        completions_{completions},
        scheduler_{scheduler} {}

  void on_request(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info);

  // `frames` begins with a middle packet of a WRITE that was just accepted. Takes as many of those
  // behind it as continue it and are like it in everything but PSN and payload; returns how many.
  // A long WRITE is thus judged once for a run of packets instead of once for each.
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

  void on_reliable(Qp& qp, const Packet& packet);
  // The expected packet. False when it was refused.
  bool take_in_order(Qp& qp, const Packet& packet);
  void nak_sequence_error(Qp& qp);
  // Selective repeat: a packet that many PSNs ahead of the expected one, and those whose turn has
  // come.
  void hold(Qp& qp, const Packet& packet, std::uint32_t ahead);
  void hand_on_held(Qp& qp);
  void on_unreliable(Qp& qp, const Packet& packet);

  [[nodiscard]] static bool in_sequence(const Qp& qp, const Packet& packet);
  [[nodiscard]] static bool length_fits(const Qp& qp, const Packet& packet);

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
  // A free place in the replay ring; null when the peer exceeds max_dest_rd_atomic.
  ReplayEntry* remember(Qp& qp);

  void on_duplicate(Qp& qp, const Packet& packet);
  void replay(Qp& qp, const Packet& packet);
  void owe(Qp& qp, std::uint8_t nak_syndrome);

  Counters& counters_;
  DmaEngine& dma_;
  Receives& receives_;
  CompletionUnit& completions_;
  Scheduler& scheduler_;
};

}  // namespace nerve::nic
