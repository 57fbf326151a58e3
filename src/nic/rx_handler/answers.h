// Turns what the responder owes into frames: CNPs, READ responses and atomic results in PSN order,
// then one NAK or one ACK that covers all of it.
#pragma once

#include "base/time.h"
#include "nic/burst.h"
#include "nic/config.h"
#include "nic/counters.h"
#include "nic/cq_manager/completion_unit.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/qp_manager/qp.h"

namespace nerve::nic {

class Answers {
 public:
  Answers(const NicConfig& config, Counters& counters, DmaEngine& dma, CompletionUnit& completions)
      : config_{config}, counters_{counters}, dma_{dma}, completions_{completions} {}

  // Adds up to `budget` frames of READ responses and the like. True when more is owed.
  bool transmit(Qp& qp, TxBurst& burst, std::uint32_t budget);

  // Once transmit() owes nothing: adds the ACK or NAK that covers it all, or one selective NAK.
  // True when it did not fit, or another is owed.
  bool acknowledge(Qp& qp, TxBurst& burst);

  // A receive was posted: a peer that was told "no credits" hears of it.
  [[nodiscard]] static bool owes_credit_update(const Qp& qp);

 private:
  ReplayEntry* next_entry(Qp& qp);
  bool emit_entry(Qp& qp, ReplayEntry& entry, TxBurst& burst, bool continues);
  void emit_acknowledge(Qp& qp, TxBurst& burst);
  void emit_selective_nak(Qp& qp, TxBurst& burst);
  // What every acknowledgement takes back to the sender.
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
