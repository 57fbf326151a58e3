// Jobs of independent messages: in rounds, or by arrival time.
#pragma once

#include <memory>
#include <optional>

#include "base/prng.h"
#include "base/result.h"
#include "sim/workload/flow_book.h"
#include "sim/workload/flow_list.h"
#include "sim/workload/laps.h"
#include "sim/workload/timed_job.h"

namespace nerve::sim {

[[nodiscard]] Result<std::unique_ptr<Job>, std::string> make_flows_job(const JobSpec& spec,
                                                                       const FlowsSpec& work,
                                                                       JobContext context);

// Permutation, shift, incast, all-to-all, checkpoint: all ranks start at once, and each starts its
// next round when its messages are acknowledged.
class RoundsJob final : public TimedJob {
 public:
  RoundsJob(const JobSpec& spec, const FlowsSpec& work, JobContext context);

  void delivered(const Token& token) override;
  void acknowledged(const Token& token) override;
  [[nodiscard]] bool done() const override { return book_.all_delivered(); }
  [[nodiscard]] std::uint64_t bytes_planned() const override {
    return work_.bytes * targets_.size() * work_.repeat;
  }
  [[nodiscard]] JobResult result() const override;

 private:
  struct Sender {
    std::uint32_t round{};
    std::uint32_t to_deliver{};
    std::uint32_t to_acknowledge{};
  };
  void begin() override;
  void on_timer(const Token&) override {}
  void find_targets();
  void find_bound();
  void send_round(std::uint32_t rank);
  void next_round(std::uint32_t rank);
  [[nodiscard]] std::uint32_t flows_of(std::uint32_t rank) const {
    return first_[rank + 1] - first_[rank];
  }

  FlowsSpec work_;
  FlowBook book_;
  std::vector<std::uint32_t> first_;    // per rank, an index into targets_; one extra at the end
  std::vector<std::uint32_t> targets_;  // of one round
  std::vector<Sender> senders_;
  std::optional<Laps> laps_;
  Duration bound_{};
  Duration floor_{};  // JobResult::floor
};

// Random flows, KV cache transfers and flow lists: a flow starts at its time, independent of other
// flows.
class ArrivalsJob final : public TimedJob {
 public:
  ArrivalsJob(const JobSpec& spec, const FlowsSpec& work, JobContext context,
              std::vector<ListedFlow> listed);

  void delivered(const Token& token) override { book_.delivered(token); }
  void acknowledged(const Token&) override {}
  [[nodiscard]] bool done() const override { return book_.all_delivered(); }
  [[nodiscard]] std::uint64_t bytes_planned() const override;
  [[nodiscard]] JobResult result() const override;

 private:
  void begin() override;
  void on_timer(const Token& token) override;
  void schedule_next();
  void send_next();
  [[nodiscard]] ListedFlow draw();

  FlowsSpec work_;
  FlowBook book_;
  std::vector<ListedFlow> listed_;
  Prng prng_;
  std::uint64_t mean_gap_{};  // picoseconds
  std::uint32_t flows_;
  std::uint32_t next_{};
};

// The mean time between arrivals for the given load of the senders' NICs. NaN or huge if there is
// none.
[[nodiscard]] double mean_gap(const FlowsSpec& work, Rate rate_of_rank, std::uint32_t senders);

}  // namespace nerve::sim
