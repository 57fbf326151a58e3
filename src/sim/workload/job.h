// A job: a state machine that is told what has arrived and what time has come, and sends.
#pragma once

#include "sim/host/messenger.h"
#include "sim/results/job_result.h"

namespace nerve::sim {

class Job {
 public:
  virtual ~Job() = default;
  virtual void start() = 0;
  // A message of this job has arrived whole at its receiver.
  virtual void delivered(const Token& token) = 0;
  // Its sender has been told so. Its buffer is free.
  virtual void acknowledged(const Token& token) = 0;
  virtual void timer(const Token& token) = 0;
  // The network let nothing of it through, however often it was sent. A job that loses one is over.
  virtual void failed(const Token&) {}
  [[nodiscard]] virtual bool done() const = 0;
  // About how many bytes its messages will have when it is done, for those who show how far it is;
  // zero when nobody can tell.
  [[nodiscard]] virtual std::uint64_t bytes_planned() const { return 0; }
  // Complete when done() is; what is known so far when it is not.
  [[nodiscard]] virtual JobResult result() const = 0;
};

}  // namespace nerve::sim
