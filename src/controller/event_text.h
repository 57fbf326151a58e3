// Decisions as lines for people, and as JSON objects for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "controller/path_planner.h"

namespace nerve::controller {

// "moved qp 0x3a087a 10.0.0.1 -> 10.0.0.2 from port 49415 to 50211: 3 flows shared link
// 10.1.0.2-10.2.0.1"
[[nodiscard]] std::string line_of(const PlannerEvent& event);
[[nodiscard]] nlohmann::json json_of(const PlannerEvent& event);

}  // namespace nerve::controller
