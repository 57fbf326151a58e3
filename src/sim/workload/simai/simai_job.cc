#include "sim/workload/simai/simai_job.h"

#include "sim/workload/simai/simai_program.h"

namespace nerve::sim {

Result<std::unique_ptr<Job>, std::string> SimaiJob::make(const JobSpec& spec, const SimaiSpec& work,
                                                         JobContext context) {
  const std::string name = "job " + spec.name + ": ";
  if (work.steps == 0) return Unexpected{name + "steps is 0, expected at least 1"};
  const auto workload = read_simai(work.file);
  if (!workload) return Unexpected{name + workload.error()};
  const auto by = parallelism_of(*workload, context.ranks());
  if (!by) return Unexpected{name + work.file + ":1: " + by.error()};
  auto pass = program_of(*workload, *by);
  if (!pass) return Unexpected{name + work.file + ": " + pass.error()};

  RankPrograms plan{.parallelism = *by,
                    .same_experts = true,
                    .programs = {},
                    .steps = work.steps,
                    .algorithm = work.algorithm};
  plan.programs.push_back(std::move(pass->program));
  const std::size_t layers = workload->layers.size();
  const std::string what =
      "SimAI workload of " + std::to_string(layers) + (layers == 1 ? " layer" : " layers") +
      ", data " + std::to_string(by->data) + " x tensor " + std::to_string(by->tensor) +
      (by->expert > 1 ? " (experts over " + std::to_string(by->expert) + ")" : "");
  std::unique_ptr<SimaiJob> job{
      new SimaiJob{spec, std::move(context), std::move(plan), what, pass->compute}};
  if (auto why = job->runner_.objection()) return Unexpected{name + *why};
  return std::unique_ptr<Job>{std::move(job)};
}

JobResult SimaiJob::result() const {
  JobResult result = blank_result();
  result.work = work_;
  using Gpus = ProgramRunner::Gpus;
  result.bound = runner_.compute_time({compute_}, 1, Gpus::kAsTheyAre);
  result.floor = runner_.compute_time({compute_}, 1, Gpus::kEqual);
  result.bound_is = "computing alone: the times of the file, with no communication";
  runner_.report(began(), begun(), result);
  return result;
}

}  // namespace nerve::sim
