// The oracle's view of one SRQ with a limit: the event is raised once per arming, when fewer
// receives are left than the limit, and not before.
//
// The model sees completions; the engine counts the receives that messages have taken. A QP holds
// at most one receive whose message is still arriving, and receives posted since the model last
// looked may have come after the event: the moment of the event is known within these bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tests/dst/host.h"
#include "tests/dst/receive_model.h"

namespace nerve::dst {

class SrqWatch : public std::enable_shared_from_this<SrqWatch> {
 public:
  // `exact`: no message holds a receive for longer than one call.
  SrqWatch(Host& host, nic::SrqHandle srq, const ReceiveModel& model, std::uint32_t max_wr,
           bool exact, EventQueue& events, Journal& journal, std::uint64_t seed)
      : host_{host},
        srq_{srq},
        model_{model},
        max_wr_{max_wr},
        exact_{exact},
        events_{events},
        journal_{journal},
        prng_{seed} {}

  [[nodiscard]] const Host& host() const { return host_; }
  [[nodiscard]] nic::SrqHandle handle() const { return srq_; }

  void start() {
    events_.after(std::chrono::microseconds{prng_.between(0, 60)},
                  [self = shared_from_this()] { self->arm(); });
  }
  // The event was raised. It is checked when all completions before it were seen.
  void reached() {
    if (limit_ == 0) return violation("told of a limit that was not set");
    told_ = limit_;
    limit_ = 0;
  }
  void check() {
    const std::uint64_t left = model_.outstanding();
    const std::uint64_t held = exact_ ? 0 : model_.users();
    if (told_) {
      const std::uint64_t maybe_gone =
          model_.posted_in_all() - posted_at_check_ + held + model_.possibly_lost();
      if (left >= *told_ + maybe_gone) {
        violation("told of its limit of " + std::to_string(*told_) + " too early");
      }
      told_.reset();
    }
    const std::uint64_t taken = model_.completed_in_all() - completed_at_arming_;
    if (limit_ > 0 && taken > held && left < limit_) {
      violation("has " + std::to_string(left) + " receives and did not tell of its limit of " +
                std::to_string(limit_));
      limit_ = 0;
    } else if (host_.nic().query_srq(srq_)->limit != limit_) {
      violation("does not know its limit");
    }
    posted_at_check_ = model_.posted_in_all();
  }

 private:
  static constexpr int kMostTimes = 30;

  void arm() {
    host_.poll_all();
    limit_ = static_cast<std::uint32_t>(prng_.between(0, max_wr_));
    if (!host_.nic().set_srq_limit(srq_, limit_)) violation("refused a limit");
    completed_at_arming_ = model_.completed_in_all();
    if (++times_ < kMostTimes) start();
  }
  void violation(const std::string& what) {
    journal_.violation(events_.now(), "host " + std::to_string(host_.index()) + ": an srq " + what);
  }

  Host& host_;
  nic::SrqHandle srq_;
  const ReceiveModel& model_;
  std::uint32_t max_wr_;
  bool exact_;
  EventQueue& events_;
  Journal& journal_;
  Prng prng_;
  int times_{};
  std::uint32_t limit_{};  // zero: not armed
  std::optional<std::uint32_t> told_{};
  std::uint64_t posted_at_check_{};
  std::uint64_t completed_at_arming_{};
};

}  // namespace nerve::dst
