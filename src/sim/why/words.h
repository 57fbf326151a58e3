// A diagnosis in words.
#pragma once

#include <string>

#include "sim/why/diagnose.h"

namespace nerve::sim {

// Where it was: leaf0>spine1; empty if it has no place.
[[nodiscard]] std::string place_of(const Evidence& evidence, const Finding& finding);

// One or two sentences.
[[nodiscard]] std::string words_of(const Evidence& evidence, std::size_t job,
                                   const Diagnosis& diagnosis, const Finding& finding);

// All of it.
[[nodiscard]] std::string paragraph_of(const Evidence& evidence, std::size_t job,
                                       const Diagnosis& diagnosis);

// Of all jobs, for RunResult::why.
[[nodiscard]] std::vector<JobWhy> explain(const Evidence& evidence);

}  // namespace nerve::sim
