// The file of `nerve controller`, in TOML. Every key is optional.
//
//   nic_rate = "400 Gb/s"
//
//   [[link]]                                  # a cable whose rate is known
//   between = ["10.1.0.2", "10.2.0.1"]
//   rate = "100 Gb/s"
//
//   [[class]]                                 # the flows with this traffic class
//   traffic_class = 106
//   rate_limit = "10 Gb/s"                    # of each of them
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "controller/path_planner.h"

namespace nerve::controller {

// "400 Gb/s"; units are b/s, Kb/s, Mb/s, Gb/s and Tb/s.
[[nodiscard]] std::optional<Rate> parse_rate(std::string_view text);

// `file` is its name, for errors: sentences like "x.toml:4: link.rate: ...".
[[nodiscard]] Result<PlannerSettings, std::string> read_settings(std::string_view text,
                                                                 const std::string& file);

}  // namespace nerve::controller
