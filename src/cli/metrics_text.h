// A sample in Prometheus' text format, version 0.0.4. docs/metrics.md lists what there is.
#pragma once

#include <string>

#include "cli/sample.h"

namespace nerve::cli {

[[nodiscard]] std::string metrics_text(const Sample& sample);

}  // namespace nerve::cli
