// An incast as in the ns-3 simulation of HPCC's authors, and the figures of that simulation: one
// switch, N senders to one receiver, 100 Gb/s, cables of a microsecond, packets of about 1 000
// bytes, the configuration of the published artifact. docs/fidelity.md has the table and the
// differences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nic/config.h"

namespace nerve::sim::test {

struct IncastFigures {
  double first{};  // completion times, in microseconds
  double last{};
  double jain{};          // of the completion times
  double queue_median{};  // KB, over samples of 100 ns with a non-empty queue
  double queue_p99{};
  double queue_most{};
  std::uint64_t pauses{};
};

struct Incast {
  std::string name;
  std::uint32_t senders{};
  std::uint32_t bytes{};
  nic::CcAlgorithm algorithm{};
  IncastFigures expected{};
  // With random marking: the median of each figure over eight runs of ns-3 with different random
  // numbers. `expected` is the first of them.
  std::optional<IncastFigures> median_there{};

  [[nodiscard]] const IncastFigures& usual() const {
    return median_there ? *median_there : expected;
  }
};

[[nodiscard]] const std::vector<Incast>& incasts();
[[nodiscard]] IncastFigures run_incast(const Incast& incast, std::uint64_t seed);
// With this many seeds; one is enough if nothing is random.
[[nodiscard]] std::vector<IncastFigures> run_incasts(const Incast& incast, std::uint64_t seeds);
// The median of each figure.
[[nodiscard]] IncastFigures median_of(const std::vector<IncastFigures>& runs);

}  // namespace nerve::sim::test
