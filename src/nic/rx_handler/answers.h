// Builds the frames that the responder has pending: CNPs, then READ responses and atomic results in
// PSN order, then one NAK or one ACK that covers all of them.
#pragma once

#include "base/time.h"
#include "nic/burst.h"
#include "nic/counters.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/qp_context/core.h"
#include "nic/qp_context/qp.h"
#include "nic/wqe_engine/completion_unit.h"

namespace nerve::nic {

class Answers {
 public:
  Answers(Core& core, CompletionUnit& completions) : core_{core}, completions_{completions} {}

  enum class Turn : std::uint8_t {
    kDone,   // nothing is pending
    kMore,   // the budget was too small
    kWaits,  // for late memory
  };
  // Adds up to `budget` frames of CNPs, READ responses and atomic results.
  Turn transmit(Qp& qp, TxBurst& burst, std::uint32_t budget);

  // Called when transmit() has nothing pending: adds the ACK or NAK that covers everything, or one
  // selective NAK. Returns true when it did not fit or another is pending.
  bool acknowledge(Qp& qp, TxBurst& burst);

  // Whether a newly posted receive must be advertised, because the peer was sent zero credits.
  [[nodiscard]] static bool owes_credit_update(const Qp& qp);

 private:
  // What emit_entry() did: a frame that can be followed by the next of its train, or one that
  // cannot, or nothing because late memory is not ready.
  enum class Emitted : std::uint8_t { kTrain, kAlone, kLater };

  ReplayEntry* next_entry(Qp& qp);
  Emitted emit_entry(Qp& qp, ReplayEntry& entry, TxBurst& burst, bool continues);
  // Late memory: whether everything that an ACK, or a NAK, would acknowledge has landed.
  [[nodiscard]] bool may_acknowledge(Qp& qp);
  void emit_acknowledge(Qp& qp, TxBurst& burst);
  void emit_selective_nak(Qp& qp, TxBurst& burst);
  // Echoes the ECN mark and telemetry to the sender.
  static void add_echoes(Qp& qp, wire::Frame& frame);
  // Ultra Ethernet.
  static void echo_path(UltraEthernet& ultra, wire::Frame& frame);
  // Reports a trimmed packet or a credit. False if neither is due.
  bool emit_of_ultra_ethernet(Qp& qp, UltraEthernet& ultra, TxBurst& burst);
  void emit_cnp(Qp& qp, TxBurst& burst);
  wire::Frame& add_frame(Qp& qp, TxBurst& burst, wire::Operation operation, Psn psn);
  [[nodiscard]] wire::Aeth positive_aeth(Qp& qp) const;

  Core& core_;
  CompletionUnit& completions_;
};

}  // namespace nerve::nic
