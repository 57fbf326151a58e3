// Runs programs on the ranks of a job: each rank computes, starts collectives and waits for them.
//
// Ranks are numbered with tensor parallelism innermost, so that its groups lie within servers, then
// data parallelism, then the pipeline: rank = (stage x data + d) x tensor + t. Expert parallelism
// groups `expert` adjacent data-parallel ranks. A rank begins its next step when its own part of
// the last one is done.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/results/job_result.h"
#include "sim/workload/collective/communicators.h"
#include "sim/workload/laps.h"
#include "sim/workload/training/program.h"

namespace nerve::sim {

struct RankPrograms {
  ParallelismSpec parallelism{};
  bool same_experts{};            // ranks with the same experts form groups (Channel::kExpertData)
  std::vector<Program> programs;  // per pipeline stage
  std::uint32_t steps{1};
  CollectiveAlgorithm algorithm{};  // of all-reduce, reduce-scatter and all-gather of gradients
};

class ProgramRunner final : private CommunicatorUser {
 public:
  // The context must outlive this object.
  ProgramRunner(const JobContext& context, bool on_front_end, RankPrograms plan,
                const std::vector<Straggler>& stragglers);

  // Why the programs cannot run on these groups; none if they can.
  [[nodiscard]] std::optional<std::string> objection() const;
  void begin();
  // The compute of this rank is over.
  void go_on(std::uint32_t rank);
  void delivered(const Token& token) { communicators_.delivered(token); }
  void acknowledged(const Token& token) { communicators_.acknowledged(token); }

  [[nodiscard]] bool done() const { return laps_.done(); }
  [[nodiscard]] std::uint64_t bytes_planned() const;
  // The time of a step that only computes, with the bubble of the pipeline. `of_batch` is what each
  // stage computes for one micro-batch.
  enum class Gpus : std::uint8_t { kAsTheyAre, kEqual };  // kEqual: without stragglers
  [[nodiscard]] Duration compute_time(const std::vector<Duration>& of_batch, std::uint32_t batches,
                                      Gpus gpus) const;
  // The fields that depend on the run.
  void report(Time began, bool begun, JobResult& result) const;

 private:
  struct Rank {
    std::uint32_t stage{};
    std::uint32_t at{};  // index in the program
    std::uint32_t step{};
    Channel waits_for{Channel::kNone};
    Time since{};
    double slowdown{1};
    RankTime time{};
    std::array<SeatId, kChannels> seats{};
  };

  [[nodiscard]] Time now() const { return context_.messenger.now(); }
  [[nodiscard]] std::uint32_t rank_at(std::uint32_t stage, std::uint32_t data,
                                      std::uint32_t tensor) const;
  void join_groups();
  void join_experts(std::uint32_t stage, std::uint32_t tensor);
  void join(Channel channel, const std::vector<std::uint32_t>& ranks);
  void join_stages(std::uint32_t data, std::uint32_t tensor);
  void link(std::uint32_t from, Channel out, std::uint32_t to, Channel in);

  void finished(SeatId seat) override;
  bool follow(std::uint32_t number, Rank& rank, const Instruction& instruction);
  [[nodiscard]] Operation operation_of(const Instruction& instruction) const;

  const JobContext& context_;
  RankPrograms plan_;
  Communicators communicators_;
  std::vector<GroupId> gradient_groups_;
  std::vector<Rank> ranks_;
  Laps laps_;
};

}  // namespace nerve::sim
