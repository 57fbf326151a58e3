// A process without devices that has the table of counters, and hands it on: what programs have
// counted is still there when they have ended, for as long as the keeper lives.
//
// It answers at the name "nerve/<uid>/keeper/<pid>". It has no thread: its owner waits for the
// descriptor, with whatever else it waits for.
#pragma once

#include <memory>
#include <optional>

#include "host/peers/statistics.h"

namespace nerve::host {

class StatisticsKeeper {
 public:
  // Nothing, and errno, when there is no name or memory to be had.
  [[nodiscard]] static std::optional<StatisticsKeeper> make();

  [[nodiscard]] int listener() const { return listener_.get(); }  // readable: a process calls
  // Answers the processes that call, and waits for at most one message from each.
  void answer();
  [[nodiscard]] const std::shared_ptr<Statistics>& statistics() const { return statistics_; }

 private:
  StatisticsKeeper(Descriptor listener, std::shared_ptr<Statistics> statistics)
      : listener_{std::move(listener)}, statistics_{std::move(statistics)} {}

  Descriptor listener_;
  std::shared_ptr<Statistics> statistics_;
};

}  // namespace nerve::host
