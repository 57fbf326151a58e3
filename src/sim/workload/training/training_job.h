// Training steps: each rank runs the program of its pipeline stage, computes, and waits for
// messages.
//
// Ranks are numbered with tensor parallelism innermost, so that its groups lie within servers, then
// data parallelism, then the pipeline: rank = (stage x data + d) x tensor + t. Expert parallelism
// groups `expert` adjacent data-parallel ranks. A rank begins its next step when its own part of
// the last one is done.
#pragma once

#include <array>
#include <memory>

#include "base/result.h"
#include "sim/workload/collective/communicators.h"
#include "sim/workload/laps.h"
#include "sim/workload/timed_job.h"
#include "sim/workload/training/program.h"

namespace nerve::sim {

class TrainingJob final : public TimedJob, private CommunicatorUser {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Job>, std::string> make(const JobSpec& spec,
                                                                      const TrainingSpec& work,
                                                                      JobContext context);

  void delivered(const Token& token) override { communicators_.delivered(token); }
  void acknowledged(const Token& token) override { communicators_.acknowledged(token); }
  [[nodiscard]] bool done() const override { return laps_.done(); }
  [[nodiscard]] std::uint64_t bytes_planned() const override;
  [[nodiscard]] JobResult result() const override;

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

  TrainingJob(const JobSpec& spec, const TrainingSpec& work, JobContext context);
  [[nodiscard]] std::uint32_t rank_at(std::uint32_t stage, std::uint32_t data,
                                      std::uint32_t tensor) const;
  void join_groups();
  void join(Channel channel, const std::vector<std::uint32_t>& ranks);
  void join_stages(std::uint32_t data, std::uint32_t tensor);
  void link(std::uint32_t from, Channel out, std::uint32_t to, Channel in);
  [[nodiscard]] std::optional<std::string> objection_to_groups() const;
  void find_bound();

  void begin() override;
  void on_timer(const Token& token) override { go_on(token.subject); }
  void finished(SeatId seat) override;
  // Runs until the rank must wait.
  void go_on(std::uint32_t rank);
  bool follow(std::uint32_t number, Rank& rank, const Instruction& instruction);
  [[nodiscard]] Operation operation_of(const Instruction& instruction) const;

  TrainingSpec work_;
  Communicators communicators_;
  std::vector<GroupId> gradient_groups_;
  std::vector<Program> programs_;  // per stage
  std::vector<Rank> ranks_;
  Laps laps_;
  Duration bound_{};
};

}  // namespace nerve::sim
