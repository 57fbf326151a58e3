// Training steps: each rank runs the program of its pipeline stage (program.h, program_runner.h).
#pragma once

#include <memory>

#include "base/result.h"
#include "sim/workload/timed_job.h"
#include "sim/workload/training/program_runner.h"

namespace nerve::sim {

class TrainingJob final : public TimedJob {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Job>, std::string> make(const JobSpec& spec,
                                                                      const TrainingSpec& work,
                                                                      JobContext context);

  void delivered(const Token& token) override { runner_.delivered(token); }
  void acknowledged(const Token& token) override { runner_.acknowledged(token); }
  [[nodiscard]] bool done() const override { return runner_.done(); }
  [[nodiscard]] std::uint64_t bytes_planned() const override { return runner_.bytes_planned(); }
  [[nodiscard]] JobResult result() const override;

 private:
  TrainingJob(const JobSpec& spec, const TrainingSpec& work, JobContext context);

  void begin() override { runner_.begin(); }
  void on_timer(const Token& token) override { runner_.go_on(token.subject); }

  TrainingSpec work_;
  ProgramRunner runner_;
};

}  // namespace nerve::sim
