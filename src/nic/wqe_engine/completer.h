// The completer: what the peer's answers mean for the requests that wait for them.
//
// An answer with PSN p says that everything before p arrived; a READ or atomic is only done when
// its own data is here, so an answer beyond one that is missing tells of a loss just as a NAK does
// ("implied NAK", IBTA 9.7.5.2).
#pragma once

#include "base/time.h"
#include "nic/counters.h"
#include "nic/cq_manager/completion_unit.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/ethernet/port.h"
#include "nic/qp_manager/qp.h"
#include "nic/wqe_engine/requester.h"
#include "nic/wqe_engine/scheduler.h"
#include "wire/frame.h"
#include "wire/selective_nak.h"

namespace nerve::nic {

class Completer {
 public:
  Completer(const NicConfig& config, Counters& counters, DmaEngine& dma, const Port& port,
            CompletionUnit& completions, Requester& requester, Scheduler& scheduler,
            const Time& now)
      : config_{config},
        counters_{counters},
        dma_{dma},
        port_{port},
        completions_{completions},
        requester_{requester},
        scheduler_{scheduler},
        now_{now} {}

  // A response packet for a QP of a reliable type.
  void on_response(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info);
  void on_cnp(Qp& qp);

  // The QP's timer has fired: retransmission, end of an RNR wait, pacing, congestion control.
  void on_timer(Qp& qp);

 private:
  void on_acknowledge(Qp& qp, const wire::Frame& frame);
  void on_rnr(Qp& qp, std::uint8_t code);
  void on_sequence_nak(Qp& qp);
  void on_selective_nak(Qp& qp, const wire::PsnRun& arrived, const wire::Frame& frame);
  void on_data(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info);
  void place_read(Qp& qp, SendWqe& wqe, const wire::Frame& frame);
  void place_atomic(Qp& qp, SendWqe& wqe, const wire::Frame& frame);

  // Everything before `end` has arrived. False when a READ or atomic before it is unanswered.
  bool acknowledge(Qp& qp, Psn end);
  // New acknowledgements refill the retry counters and push the timer forward.
  void note_progress(Qp& qp, const wire::Frame& frame);
  void note_credits(Qp& qp, const wire::Aeth& aeth);
  // Data came, but not the data that is due.
  void skipped(Qp& qp, const wire::Frame& frame);
  // Once for each loss, before it is sent again.
  void note_loss(Qp& qp);
  // An answer was lost: ask again, once for each loss.
  void implied_nak(Qp& qp, const wire::Frame& frame);
  // Sends again from the oldest unacknowledged packet, or gives up.
  void retry(Qp& qp);
  void restart_timer(Qp& qp);
  void settle(Qp& qp);

  // Selective repeat.
  // A missing packet counts as lost when it was overtaken by more than so many.
  void judge_losses(Qp& qp, std::uint32_t tolerance);
  void begin_recovery(Qp& qp);
  // To the next packet that counts as lost and was not sent again, if there is one.
  void resend_lost(Qp& qp);
  void note_selective_progress(Qp& qp, Psn before);
  void on_selective_timeout(Qp& qp);
  void on_reorder_timeout(Qp& qp);

  // Tail probes.
  void on_probe_timer(Qp& qp);
  // Selective repeat: sends again all that counts as lost and has not been heard of since. False
  // when nothing does.
  bool resend_unconfirmed(Qp& qp);

  const NicConfig& config_;
  Counters& counters_;
  DmaEngine& dma_;
  const Port& port_;
  CompletionUnit& completions_;
  Requester& requester_;
  Scheduler& scheduler_;
  const Time& now_;
};

}  // namespace nerve::nic
