// The common part of all jobs: their context and their start time.
//
// start() may be called at the start time or earlier.
#pragma once

#include <string>
#include <utility>

#include "sim/scenario/job_spec.h"
#include "sim/workload/job.h"
#include "sim/workload/job_context.h"

namespace nerve::sim {

class TimedJob : public Job {
 public:
  TimedJob(const JobSpec& spec, JobContext context)
      : context_{std::move(context)},
        name_{spec.name},
        on_front_end_{spec.on_front_end},
        begins_{Time{spec.start}} {}

  void start() final {
    if (now() < begins_) {
      context_.messenger.after(begins_ - now(), {context_.number, kBegin, kBegin});
      return;
    }
    begun_ = true;
    begins_ = now();
    begin();
  }
  void timer(const Token& token) final {
    if (token.subject == kBegin) return start();
    on_timer(token);
  }

 protected:
  virtual void begin() = 0;
  virtual void on_timer(const Token& token) = 0;

  [[nodiscard]] Time now() const { return context_.messenger.now(); }
  [[nodiscard]] const JobContext& context() const { return context_; }
  [[nodiscard]] bool on_front_end() const { return on_front_end_; }
  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] Time began() const { return begins_; }
  // A result with the fields that all jobs have.
  [[nodiscard]] JobResult blank_result() const {
    JobResult result;
    result.name = name_;
    result.start = begins_;
    result.end = now();
    if (!begun_) result.trouble = "it has not begun";
    return result;
  }

 private:
  static constexpr std::uint32_t kBegin = 0xffff'ffff;

  JobContext context_;
  std::string name_;
  bool on_front_end_;
  Time begins_;
  bool begun_{};
};

}  // namespace nerve::sim
