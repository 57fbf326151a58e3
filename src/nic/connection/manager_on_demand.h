// The connection manager of an engine, which is made when it is first needed: simulated NICs never
// connect by messages, and a driver of thousands of them waits for each cache line.
#pragma once

#include <memory>
#include <optional>

#include "nic/connection/connection_manager.h"

namespace nerve::nic {

class ManagerOnDemand {
 public:
  ManagerOnDemand(const NicConfig& config, Counters& counters, const Port& port, Trace* trace)
      : config_{config}, counters_{counters}, port_{port}, trace_{trace} {}

  [[nodiscard]] ConnectionManager& get() {
    if (!manager_) {
      manager_ = std::make_unique<ConnectionManager>(config_, counters_, port_, trace_);
    }
    return *manager_;
  }

  [[nodiscard]] bool wants_to_send() const { return manager_ && manager_->wants_to_send(); }
  [[nodiscard]] std::optional<Time> next_deadline() {
    return manager_ ? manager_->next_deadline() : std::nullopt;
  }
  void expire(Time now) {
    if (manager_) manager_->expire(now);
  }

 private:
  std::unique_ptr<ConnectionManager> manager_;
  const NicConfig& config_;
  Counters& counters_;
  const Port& port_;
  Trace* trace_;
};

}  // namespace nerve::nic
