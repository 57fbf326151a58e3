// Reads trace files (host/diagnostics/trace_layout.h). They may be damaged, still be written to, or
// not be traces at all: every number is checked.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cli/trace_document.h"

namespace nerve::cli {

struct TraceFolder {
  std::vector<RecordedTrace> traces;
  std::vector<std::string> problems;  // a sentence for each file that cannot be read
};

// All files *.trace of the folder, in the order of their names.
[[nodiscard]] TraceFolder read_trace_folder(const std::string& folder);

// Adds the trace in these bytes. Returns an empty string, or what is wrong with them.
[[nodiscard]] std::string read_trace(std::span<const std::byte> bytes,
                                     std::vector<RecordedTrace>& to);

}  // namespace nerve::cli
