#include "cli/trace_page.h"

#include <algorithm>

#include "cli/embedded_json.h"

namespace nerve::cli {
namespace {

constexpr std::string_view kMarker = "<!--trace-->";
constexpr std::string_view kBefore = R"(<script type="application/json" class="nerve-trace">)";
constexpr std::string_view kAfter = "</script>\n";

}  // namespace

std::string trace_page(std::string_view page, std::string_view json) {
  const std::size_t marker = std::min(page.find(kMarker), page.size());
  const std::size_t rest = std::min(marker + kMarker.size(), page.size());
  std::string filled;
  filled.reserve(page.size() + kBefore.size() + json.size() + kAfter.size());
  filled += page.substr(0, marker);
  filled += kBefore;
  append_embedded_json(filled, json);
  filled += kAfter;
  filled += page.substr(rest);
  return filled;
}

}  // namespace nerve::cli
