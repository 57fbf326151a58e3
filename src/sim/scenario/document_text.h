// A document as the text of a TOML file.
#pragma once

#include <string>

#include "sim/scenario/document.h"

namespace nerve::sim::scenario_file {

// Parsing the text gives the same values, without their positions. Dates are left out: no key takes
// one.
[[nodiscard]] std::string text_of(const Node& document);

}  // namespace nerve::sim::scenario_file
