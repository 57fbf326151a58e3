// Values as text, for results and errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/scenario/job_spec.h"

namespace nerve::sim {

[[nodiscard]] std::string_view words_of(CollectiveKind kind);
[[nodiscard]] std::string_view words_of(CollectiveAlgorithm algorithm);
[[nodiscard]] std::string_view words_of(FlowPattern pattern);
// 64 MB, 1.5 kB: at most three digits.
[[nodiscard]] std::string bytes_in_words(std::uint64_t bytes);
// 7 B, 1.8 T, 350 M.
[[nodiscard]] std::string count_in_words(double count);
// In the syntax of a scenario.
[[nodiscard]] std::string number_in_words(double number);

}  // namespace nerve::sim
