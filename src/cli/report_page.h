// The report page of simulated runs: one HTML file that needs nothing but a browser. The page
// itself is web/, bundled when Nerve is built; here results are put into it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nerve::cli {

// With one result its figures and charts; with several the same side by side, compared with the
// first. Each is the text of a result.json. What is no JSON is put in as harmlessly, and the page
// says that it cannot read it.
[[nodiscard]] std::string report_page(std::span<const std::string> result_jsons);

// web/page.html with its style and script, or web/plain.html where the build could not bundle them.
// Defined in a file that the build makes: cmake/make_report_template.cmake.
[[nodiscard]] std::string_view report_template();

}  // namespace nerve::cli
