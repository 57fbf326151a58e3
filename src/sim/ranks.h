// Processes that run one simulation together, on one machine or many. Each is a rank and runs some
// of the parts; all run the programs.
//
// This is all that the simulator knows of the transport between them. src/mpi/ implements it with
// MPI, tests/sim_cores with threads. All ranks make the same calls in the same order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/core/packing.h"

namespace nerve::sim {

class Ranks {
 public:
  virtual ~Ranks() = default;
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t count() const = 0;

  // Sends out[i] to rank i, and receives in[i] from it, for all other ranks i. Both have an entry
  // for each rank. False if it failed; from then on, every call fails.
  [[nodiscard]] virtual bool exchange(std::span<const Packed> out, std::span<Packed> in) = 0;
  // Rank zero gets the message of each rank; elsewhere `all` is left as it is.
  [[nodiscard]] virtual bool gather(const Packed& mine, std::span<Packed> all) = 0;
  // Why a call failed; empty if none has.
  [[nodiscard]] virtual std::string trouble() const = 0;
};

// Something that must be the same on all ranks.
struct Term {
  std::string what;
  std::string value;
};

// Compares the terms of all ranks. Returns what differs, in words; empty if nothing does.
[[nodiscard]] std::string agree(Ranks& ranks, const std::vector<Term>& terms);

// Why one of them cannot go on: what the first rank with such a reason says. Empty if none has one.
[[nodiscard]] std::string first_trouble(Ranks& ranks, const std::string& why);

}  // namespace nerve::sim
