// Reasons to reject a training job, each with the value and what was expected.
#pragma once

#include <optional>
#include <string>

#include "sim/scenario/job_spec.h"

namespace nerve::sim {

[[nodiscard]] std::optional<std::string> objection_to(const TrainingSpec& spec,
                                                      std::uint32_t ranks);

}  // namespace nerve::sim
