// Posts receives, in time or late. Each message that needs a receive reserves one when it is
// posted, so that it always gets one in the end.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "tests/dst/host.h"
#include "tests/dst/receive_model.h"
#include "tests/dst/terms.h"

namespace nerve::dst {

class ReceiveFeeder : public std::enable_shared_from_this<ReceiveFeeder> {
 public:
  // Exactly one of `qp` and `srq` names the queue.
  ReceiveFeeder(Host& host, nic::QpHandle qp, nic::SrqHandle srq, ReceiveModel& model,
                const Terms& terms, EventQueue& events, Journal& journal, std::uint64_t seed)
      : host_{host},
        qp_{qp},
        srq_{srq},
        model_{model},
        terms_{terms},
        events_{events},
        journal_{journal},
        prng_{seed} {}

  // Reserves a buffer for one more message; false when the host has no memory left.
  bool promise();
  // Posts what fits in the queue.
  void feed();
  // The QP is gone: post nothing more.
  void stop() { stopped_ = true; }
  [[nodiscard]] ReceiveModel& model() const { return model_; }

 private:
  Host& host_;
  nic::QpHandle qp_;
  nic::SrqHandle srq_;
  ReceiveModel& model_;
  Terms terms_;
  EventQueue& events_;
  Journal& journal_;
  Prng prng_;
  std::deque<Receive> ready_;
  bool stopped_{};
};

// A queue of receives: a QP's own, or an SRQ.
struct ReceiveSource {
  nic::SrqHandle srq{};  // none: a QP's own
  std::uint32_t number{};
  std::uint32_t depth{};
  ReceiveModel* model{};
  std::shared_ptr<ReceiveFeeder> feeder{};
};

}  // namespace nerve::dst
