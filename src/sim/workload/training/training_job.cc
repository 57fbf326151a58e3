#include "sim/workload/training/training_job.h"

#include "sim/workload/training/objections.h"
#include "sim/workload/words.h"

namespace nerve::sim {
namespace {

RankPrograms programs_of(const TrainingSpec& work) {
  RankPrograms plan{.parallelism = work.parallelism,
                    .same_experts = work.model.experts > 0,
                    .programs = {},
                    .steps = work.steps,
                    .algorithm = work.algorithm};
  for (std::uint32_t stage = 0; stage < work.parallelism.pipeline; ++stage) {
    plan.programs.push_back(program_of_stage(work, stage));
  }
  return plan;
}

}  // namespace

Result<std::unique_ptr<Job>, std::string> TrainingJob::make(const JobSpec& spec,
                                                            const TrainingSpec& work,
                                                            JobContext context) {
  const std::string name = "job " + spec.name + ": ";
  if (auto why = objection_to(work, context.ranks())) return Unexpected{name + *why};
  std::unique_ptr<TrainingJob> job{new TrainingJob{spec, work, std::move(context)}};
  if (auto why = job->runner_.objection()) return Unexpected{name + *why};
  return std::unique_ptr<Job>{std::move(job)};
}

TrainingJob::TrainingJob(const JobSpec& spec, const TrainingSpec& work, JobContext context)
    : TimedJob{spec, std::move(context)},
      work_{work},
      runner_{this->context(), on_front_end(), programs_of(work), spec.stragglers} {}

JobResult TrainingJob::result() const {
  const ParallelismSpec& by = work_.parallelism;
  JobResult result = blank_result();
  result.work = "training of " + count_in_words(work_.model.parameters) + " parameters, data " +
                std::to_string(by.data) + " x tensor " + std::to_string(by.tensor) +
                " x pipeline " + std::to_string(by.pipeline) +
                (by.expert > 1 ? " (experts over " + std::to_string(by.expert) + ")" : "");
  std::vector<Duration> of_batch;
  for (std::uint32_t stage = 0; stage < by.pipeline; ++stage) {
    of_batch.push_back(cost_of_layer(work_).forward_and_backward() * layers_of_stage(work_, stage));
  }
  using Gpus = ProgramRunner::Gpus;
  result.bound = runner_.compute_time(of_batch, work_.micro_batches, Gpus::kAsTheyAre);
  result.floor = runner_.compute_time(of_batch, work_.micro_batches, Gpus::kEqual);
  result.bound_is = "computing alone: " + std::to_string(work_.micro_batches) +
                    " micro batches and the bubble of " + std::to_string(by.pipeline) +
                    (by.pipeline == 1 ? " stage" : " stages") + ", with no communication";
  runner_.report(began(), begun(), result);
  return result;
}

}  // namespace nerve::sim
