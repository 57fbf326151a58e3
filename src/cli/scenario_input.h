// Reads a scenario from a file and the command line. Errors go to stderr.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/scenario/override.h"
#include "sim/scenario/scenario.h"

namespace nerve::cli {

// The whole file; nothing, after an error message of `command`, if it cannot be read.
[[nodiscard]] std::optional<std::string> read_text(const std::string& command,
                                                   const std::string& file);

// Nothing, after one error message per problem, if the scenario is invalid.
[[nodiscard]] std::optional<sim::Scenario> make_scenario(const std::string& text,
                                                         const std::string& file,
                                                         std::span<const sim::Override> overrides);

// Parses words of the form key=value; nothing, after an error message, if one is not.
[[nodiscard]] std::optional<std::vector<sim::Override>> parse_overrides(
    const std::string& command, const std::vector<std::string>& words);

}  // namespace nerve::cli
