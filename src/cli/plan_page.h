// The page of a plan: one HTML file that needs only a browser. web/ has its source.
#pragma once

#include <string>
#include <string_view>

namespace nerve::cli {

// `plan_json` is the text of a plan.json.
[[nodiscard]] std::string plan_page(const std::string& plan_json);

// web/plan.html with its style and script, or web/plain/plan.html if the build could not bundle
// them. Defined in a generated file: cmake/make_pages.cmake.
[[nodiscard]] std::string_view plan_template();

}  // namespace nerve::cli
