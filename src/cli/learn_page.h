// The page of a search: its curves, in one HTML file without scripts.
#pragma once

#include <span>
#include <string>

#include "cli/learn_plan.h"
#include "cli/learn_search.h"

namespace nerve::cli {

[[nodiscard]] std::string learn_page(const LearnPlan& plan,
                                     std::span<const LearnGeneration> history);

}  // namespace nerve::cli
