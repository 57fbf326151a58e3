// A world of engines made from one seed, run to its end and checked by the model.
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
  bool late_memory{};  // of all hosts (late_store.h)
  // With a direct path between late memories (late_path.h); packets are carried as values.
  bool late_copies{};
  bool siblings{};  // the hosts are engines of one device: they share all objects but QPs
  bool stranger{};  // forges packets (stranger.h)
  bool scatter{};   // NicConfig::scatter_numbers
  std::optional<Twists> twists{};  // instead of those that the seed draws
};

struct Outcome {
  std::vector<std::string> violations;  // empty: the engine behaved as the standard requires
  std::uint64_t history{};              // a hash of all frames and completions in their order
  std::uint64_t frames{};
  std::uint32_t connections{};       // as drawn, including those left out
  std::vector<std::string> story{};  // one line per event
  std::uint32_t wrapped{};           // operations seen across the PSN wrap (wire_watch.h)
};

// Everything in the run follows from the seed; nothing here exits the process.
[[nodiscard]] Outcome run_seed(std::uint64_t seed, const Options& options = {});

}  // namespace nerve::dst
