// A job: a state machine driven by the events of its messages and timers.
#pragma once

#include "sim/host/messenger.h"
#include "sim/results/job_result.h"

namespace nerve::sim {

class Job : public MessengerUser {
 public:
  // An estimate of the payload of all its messages, for progress reports; zero when unknown.
  [[nodiscard]] virtual std::uint64_t bytes_planned() const { return 0; }
  // Complete once done() returns true; before that, the state so far.
  [[nodiscard]] virtual JobResult result() const = 0;
};

}  // namespace nerve::sim
