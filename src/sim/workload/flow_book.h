// The flows of a job and their state: sent, arrived.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/results/job_result.h"
#include "sim/scenario/job_spec.h"
#include "sim/workload/job_context.h"
#include "sim/workload/lines.h"

namespace nerve::sim {

// A receiver is a rank or a storage server; storage servers are numbered after all ranks.
class FlowBook {
 public:
  // The context must outlive this object.
  FlowBook(const JobContext& context, bool on_front_end, FlowQps qps = {})
      : context_{context},
        lines_{context},
        on_front_end_{on_front_end},
        own_connections_{qps == FlowQps::kPerFlow} {}

  // Makes room for this many flows, sent in any order.
  void expect(std::uint64_t flows) { flows_.resize(flows); }
  void send(std::uint32_t number, std::uint32_t from, std::uint32_t to, std::uint64_t bytes);
  void delivered(const Token& token);

  [[nodiscard]] bool all_delivered() const { return delivered_ == flows_.size(); }
  [[nodiscard]] std::uint64_t bytes_delivered() const { return bytes_delivered_; }
  [[nodiscard]] Time last() const { return last_; }
  [[nodiscard]] Lines& lines() { return lines_; }
  [[nodiscard]] const Lines& lines() const { return lines_; }
  // Adds the completed flows to a result.
  void add_to(JobResult& result) const;

 private:
  const JobContext& context_;
  Lines lines_;
  bool on_front_end_;
  bool own_connections_;
  std::vector<FlowResult> flows_;  // completed if end > start
  std::uint64_t delivered_{};
  std::uint64_t bytes_delivered_{};
  Time last_{};
};

}  // namespace nerve::sim
