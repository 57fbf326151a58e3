// The page of a trace: one HTML file that needs only a browser.
#pragma once

#include <string>
#include <string_view>

namespace nerve::cli {

// `json` is a trace document (trace_document.h).
[[nodiscard]] std::string trace_page(std::string_view json);

}  // namespace nerve::cli
