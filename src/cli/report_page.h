// The report page of simulated runs: one HTML file that needs only a browser. The page is web/,
// bundled at build time; this inserts the results.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nerve::cli {

// With one result, its figures and charts; with several, all of them side by side, compared with
// the first. Each is the text of a result.json. Text that is not JSON is inserted safely, and the
// page reports that it cannot read it.
[[nodiscard]] std::string report_page(std::span<const std::string> result_jsons);

// web/report.html with its style and script, or web/plain/report.html if the build could not bundle
// them. Defined in a generated file: cmake/make_pages.cmake.
[[nodiscard]] std::string_view report_template();

}  // namespace nerve::cli
