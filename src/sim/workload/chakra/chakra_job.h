// Runs the traces of Chakra: a node begins when the nodes that it depends on are done.
//
// A rank has a GPU and a CPU, each of which computes one node at a time; of the nodes that can run,
// the first in the order of the trace. The operations of a group run one after the other, those of
// different groups at the same time.
#pragma once

#include <memory>
#include <queue>
#include <vector>

#include "base/result.h"
#include "sim/workload/chakra/chakra_world.h"
#include "sim/workload/collective/communicators.h"
#include "sim/workload/timed_job.h"

namespace nerve::sim {

class ChakraJob final : public TimedJob, private CommunicatorUser {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Job>, std::string> make(const JobSpec& spec,
                                                                      const ChakraSpec& work,
                                                                      JobContext context);

  void delivered(const Token& token) override { communicators_.delivered(token); }
  void acknowledged(const Token& token) override { communicators_.acknowledged(token); }
  [[nodiscard]] bool done() const override { return ranks_done_ == ranks_.size(); }
  [[nodiscard]] std::uint64_t bytes_planned() const override;
  [[nodiscard]] JobResult result() const override;

 private:
  using Ready = std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>;
  struct Processor {
    Ready ready;
    bool busy{};
  };
  struct Lane {
    SeatId seat{kNoSeat};     // none: a group of one, which has nothing to send
    std::uint32_t started{};  // operations
    std::uint32_t finished{};
  };
  struct Rank {
    ChakraRank trace;
    std::vector<Lane> lanes;
    Processor gpu;
    Processor cpu;
    std::vector<std::uint32_t> over;  // steps that are done, and whose children do not know it yet
    bool draining{};
    std::uint32_t left{};  // steps that are not done
    double slowdown{1};
    Time busy_since{};
    Time ended{};
    Duration compute{};
  };

  ChakraJob(const JobSpec& spec, const ChakraSpec& work, JobContext context, ChakraWorld world);
  [[nodiscard]] std::optional<std::string> objection_to_groups() const;
  void add_groups();
  void add_lanes();

  void begin() override;
  void on_timer(const Token& token) override;
  void finished(SeatId seat) override;

  void is_over(std::uint32_t rank, std::uint32_t step);
  void is_ready(std::uint32_t rank, std::uint32_t step);
  void start_lane(std::uint32_t rank, std::uint32_t lane);
  void compute_next(std::uint32_t rank, Processor& processor);
  void drain(std::uint32_t rank);
  [[nodiscard]] Operation operation_of(const ChakraGroup& group, const ChakraOperation& one) const;

  CollectiveAlgorithm algorithm_;
  Communicators communicators_;
  std::vector<ChakraGroup> groups_;
  std::vector<GroupId> group_ids_;  // per group of several ranks
  struct SeatUse {
    std::uint32_t rank{};
    std::uint32_t lane{};
  };
  std::vector<SeatUse> uses_;  // per seat
  std::vector<Rank> ranks_;
  std::uint32_t ranks_done_{};
  std::uint64_t steps_{};
  Duration bound_{};
  Duration floor_{};  // JobResult::floor
  Time end_{};
};

}  // namespace nerve::sim
