// The instructions of a rank in one training step; the same for all ranks of a pipeline stage.
//
// The schedule is 1F1B: a stage runs one forward pass for each stage after it, then alternates
// forward and backward passes, then runs the remaining backward passes.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario/job_spec.h"
#include "sim/workload/training/cost.h"

namespace nerve::sim {

// The groups and peers that a rank communicates with.
enum class Channel : std::uint8_t {
  kTensor,
  kData,
  kExpert,
  kExpertData,      // ranks with the same experts
  kActivationsIn,   // from the previous stage
  kActivationsOut,  // to the next stage
  kGradientsIn,     // from the next stage
  kGradientsOut,    // to the previous stage
  kNone,
};
inline constexpr std::size_t kChannels = static_cast<std::size_t>(Channel::kNone);

struct Instruction {
  enum class Kind : std::uint8_t {
    kCompute,  // for `value` picoseconds
    kStart,    // a collective of `value` bytes, without waiting for it
    kWait,     // until everything started on the channel is done
  };
  Kind kind{};
  Channel channel{Channel::kNone};
  CollectiveKind collective{};
  std::uint64_t value{};

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

using Program = std::vector<Instruction>;

[[nodiscard]] Program program_of_stage(const TrainingSpec& spec, std::uint32_t stage);
// An upper limit for every program of the job.
[[nodiscard]] double most_instructions(const TrainingSpec& spec);

}  // namespace nerve::sim
