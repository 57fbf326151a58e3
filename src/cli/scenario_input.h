// A scenario from a file and the command line; what is wrong with it goes to stderr.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/scenario/override.h"
#include "sim/scenario/scenario.h"

namespace nerve::cli {

// The whole file; none, and told after the name of the command, when it cannot be read.
[[nodiscard]] std::optional<std::string> read_text(const std::string& command,
                                                   const std::string& file);

// None, and told line by line, when something is wrong.
[[nodiscard]] std::optional<sim::Scenario> make_scenario(const std::string& text,
                                                         const std::string& file,
                                                         std::span<const sim::Override> overrides);

// From words key=value; none, and told, when one is not.
[[nodiscard]] std::optional<std::vector<sim::Override>> parse_overrides(
    const std::string& command, const std::vector<std::string>& words);

}  // namespace nerve::cli
