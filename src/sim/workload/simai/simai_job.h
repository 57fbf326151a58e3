// Passes of a SimAI workload (simai_file.h): every rank runs the same layers.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "sim/workload/timed_job.h"
#include "sim/workload/training/program_runner.h"

namespace nerve::sim {

class SimaiJob final : public TimedJob {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Job>, std::string> make(const JobSpec& spec,
                                                                      const SimaiSpec& work,
                                                                      JobContext context);

  void delivered(const Token& token) override { runner_.delivered(token); }
  void acknowledged(const Token& token) override { runner_.acknowledged(token); }
  [[nodiscard]] bool done() const override { return runner_.done(); }
  [[nodiscard]] std::uint64_t bytes_planned() const override { return runner_.bytes_planned(); }
  [[nodiscard]] JobResult result() const override;

 private:
  SimaiJob(const JobSpec& spec, JobContext context, RankPrograms plan, std::string work,
           Duration compute)
      : TimedJob{spec, std::move(context)},
        work_{std::move(work)},
        runner_{this->context(), on_front_end(), std::move(plan), spec.stragglers},
        compute_{compute} {}

  void begin() override { runner_.begin(); }
  void on_timer(const Token& token) override { runner_.go_on(token.subject); }

  std::string work_;
  ProgramRunner runner_;
  Duration compute_;  // of one pass
};

}  // namespace nerve::sim
