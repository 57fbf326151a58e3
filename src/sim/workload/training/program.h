// What a rank does in a step of training: the same for all ranks of a pipeline stage.
//
// The schedule is 1F1B: a stage does as many forward passes as there are stages after it, then one
// backward pass after each forward pass, then the backward passes that are left.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario/job_spec.h"
#include "sim/workload/training/cost.h"

namespace nerve::sim {

// With whom a rank communicates.
enum class Channel : std::uint8_t {
  kTensor,
  kData,
  kExpert,
  kExpertData,      // those that have the same experts
  kActivationsIn,   // from the stage before
  kActivationsOut,  // to the stage after
  kGradientsIn,     // from the stage after
  kGradientsOut,    // to the stage before
  kNone,
};
inline constexpr std::size_t kChannels = static_cast<std::size_t>(Channel::kNone);

struct Instruction {
  enum class Kind : std::uint8_t {
    kCompute,  // for `value` picoseconds
    kStart,    // a collective of `value` bytes; goes on at once
    kWait,     // until all that was started on the channel is done
  };
  Kind kind{};
  Channel channel{Channel::kNone};
  CollectiveKind collective{};
  std::uint64_t value{};

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

using Program = std::vector<Instruction>;

[[nodiscard]] Program program_of_stage(const TrainingSpec& spec, std::uint32_t stage);
// No program of the job has more.
[[nodiscard]] double most_instructions(const TrainingSpec& spec);

}  // namespace nerve::sim
