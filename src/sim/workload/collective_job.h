// A job that repeats one collective over all its ranks. A rank begins the next iteration when its
// own part of the last one is done.
#pragma once

#include <memory>

#include "base/result.h"
#include "sim/workload/collective/communicators.h"
#include "sim/workload/laps.h"
#include "sim/workload/timed_job.h"

namespace nerve::sim {

class CollectiveJob final : public TimedJob, private CommunicatorUser {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Job>, std::string> make(const JobSpec& spec,
                                                                      const CollectiveSpec& work,
                                                                      JobContext context);

  void delivered(const Token& token) override { communicators_.delivered(token); }
  void acknowledged(const Token& token) override { communicators_.acknowledged(token); }
  [[nodiscard]] bool done() const override { return laps_.done(); }
  [[nodiscard]] std::uint64_t bytes_planned() const override {
    return bytes_of(operation_, communicators_.layout(group_)) * laps_.laps();
  }
  [[nodiscard]] JobResult result() const override;

 private:
  CollectiveJob(const JobSpec& spec, const CollectiveSpec& work, JobContext context);
  void begin() override;
  void on_timer(const Token&) override {}
  void finished(SeatId seat) override;
  void find_bound();
  [[nodiscard]] double bus_bandwidth(Duration time) const;

  Communicators communicators_;
  GroupId group_;
  Operation operation_;                      // resolved
  std::vector<std::uint32_t> iteration_of_;  // per rank
  Laps laps_;
  Duration bound_{};
  Duration floor_{};  // JobResult::floor
  std::string bound_is_;
};

}  // namespace nerve::sim
