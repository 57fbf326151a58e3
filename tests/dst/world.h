// A world of engines made from one seed, run to its end under the eyes of the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/dst/limits.h"
#include "tests/dst/parcel.h"
#include "tests/dst/twists.h"

namespace nerve::dst {

struct Options {
  Carriage carriage{Carriage::kBytes};
  bool trace{};
  Recovery recovery{Recovery::kGoBackN};
  bool story{};  // Outcome::story is kept
  Limits limits{};
  Family family{Family::kCommon};
  bool siblings{};  // the hosts are engines of one device: they share all objects but QPs
  std::optional<Twists> twists{};  // instead of those that the seed draws
};

struct Outcome {
  std::vector<std::string> violations;  // empty: the engine did what the standard says
  std::uint64_t history{};              // a hash of all frames and completions in their order
  std::uint64_t frames{};
  std::uint32_t connections{};       // drawn, left out or not
  std::vector<std::string> story{};  // a line for everything that happened
  std::uint32_t wrapped{};  // operations that were seen across the wrap of PSNs (wire_watch.h)
};

// Everything in the run follows from the seed; nothing here ends the process.
[[nodiscard]] Outcome run_seed(std::uint64_t seed, const Options& options = {});

}  // namespace nerve::dst
