#include "cli/report_page.h"

#include <vector>

#include "cli/embedded_json.h"

namespace nerve::cli {

std::string report_page(std::span<const std::string> result_jsons) {
  const std::vector<std::string_view> results{result_jsons.begin(), result_jsons.end()};
  return page_with(report_template(), "<!--results-->", "nerve-result", results);
}

}  // namespace nerve::cli
