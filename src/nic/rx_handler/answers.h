// Builds the frames that the responder has pending: CNPs, then READ responses and atomic results in
// PSN order, then one NAK or one ACK that covers all of them.
#pragma once

#include "base/time.h"
#include "nic/burst.h"
#include "nic/config.h"
#include "nic/counters.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/qp_context/qp.h"
#include "nic/wqe_engine/completion_unit.h"

namespace nerve::nic {

class Answers {
 public:
  Answers(const NicConfig& config, Counters& counters, DmaEngine& dma, CompletionUnit& completions)
      : config_{config}, counters_{counters}, dma_{dma}, completions_{completions} {}

  // Adds up to `budget` frames of CNPs, READ responses and atomic results. Returns true when more
  // are pending.
  bool transmit(Qp& qp, TxBurst& burst, std::uint32_t budget);

  // Called when transmit() has nothing pending: adds the ACK or NAK that covers everything, or one
  // selective NAK. Returns true when it did not fit or another is pending.
  bool acknowledge(Qp& qp, TxBurst& burst);

  // Whether a newly posted receive must be advertised, because the peer was sent zero credits.
  [[nodiscard]] static bool owes_credit_update(const Qp& qp);

 private:
  ReplayEntry* next_entry(Qp& qp);
  bool emit_entry(Qp& qp, ReplayEntry& entry, TxBurst& burst, bool continues);
  void emit_acknowledge(Qp& qp, TxBurst& burst);
  void emit_selective_nak(Qp& qp, TxBurst& burst);
  // Echoes the ECN mark and telemetry to the sender.
  static void add_echoes(Qp& qp, wire::Frame& frame);
  void emit_cnp(Qp& qp, TxBurst& burst);
  wire::Frame& add_frame(Qp& qp, TxBurst& burst, wire::Operation operation, Psn psn);
  [[nodiscard]] wire::Aeth positive_aeth(Qp& qp) const;

  const NicConfig& config_;
  Counters& counters_;
  DmaEngine& dma_;
  CompletionUnit& completions_;
};

}  // namespace nerve::nic
