// What a plan needs of a run, and its file, so that --resume finds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/results/run_result.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim::plan {

struct Figures {
  bool done{};
  std::string trouble;     // why it is not
  double seconds{};        // until the last job ended
  double bound_seconds{};  // the least that it could have taken: without sharing any cable
  double idle{-1};         // share of the GPUs' time; negative: no job computes
  double link_bytes{};     // over all cables
  std::uint64_t data_packets{};
  std::uint64_t pauses{};
  std::uint64_t dropped{};
  std::uint64_t retransmitted{};
  std::string why;  // the paragraph of the job with the largest excess

  friend bool operator==(const Figures&, const Figures&) = default;
};

[[nodiscard]] Figures figures_of(const RunResult& result);

[[nodiscard]] std::string to_json(const Figures& figures);
// None if the text is not such a file.
[[nodiscard]] std::optional<Figures> figures_from_json(std::string_view text);

// Of the training jobs, in one run.
[[nodiscard]] double tokens_of(const Scenario& scenario);

}  // namespace nerve::sim::plan
