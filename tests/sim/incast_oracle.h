// An incast as the ns-3 simulation of HPCC's authors has it, and what that gives: one switch, N
// senders to one receiver, 100 Gb/s, cables of a microsecond, packets of about 1 000 bytes, the
// configuration of the published artifact. docs/fidelity.md has the table and tells what differs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nic/config.h"

namespace nerve::sim::test {

struct IncastFigures {
  double first{};  // completion of a flow, in microseconds
  double last{};
  double jain{};          // of the completion times
  double queue_median{};  // KB, over samples of 100 ns in which it was not empty
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
  // Where switches mark by chance: of each figure the median of eight runs there, with other random
  // numbers. `expected` is the first of them.
  std::optional<IncastFigures> median_there{};

  [[nodiscard]] const IncastFigures& usual() const {
    return median_there ? *median_there : expected;
  }
};

[[nodiscard]] const std::vector<Incast>& incasts();
[[nodiscard]] IncastFigures run_incast(const Incast& incast, std::uint64_t seed);
// Of each figure the median of so many seeds.
[[nodiscard]] IncastFigures run_incasts(const Incast& incast, std::uint64_t seeds);

}  // namespace nerve::sim::test
