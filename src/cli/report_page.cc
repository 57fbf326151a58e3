#include "cli/report_page.h"

#include "cli/embedded_json.h"

namespace nerve::cli {
namespace {

constexpr std::string_view kMarker = "<!--results-->";
constexpr std::string_view kBefore = R"(<script type="application/json" class="nerve-result">)";
constexpr std::string_view kAfter = "</script>\n";

}  // namespace

std::string report_page(std::span<const std::string> result_jsons) {
  const std::string_view page = report_template();
  const std::size_t marker = page.find(kMarker);
  std::size_t size = page.size();
  for (const std::string& json : result_jsons) size += json.size() + kBefore.size() + kAfter.size();

  std::string filled;
  filled.reserve(size);
  filled += page.substr(0, marker);
  for (const std::string& json : result_jsons) {
    filled += kBefore;
    append_embedded_json(filled, json);
    filled += kAfter;
  }
  filled += page.substr(marker + kMarker.size());
  return filled;
}

}  // namespace nerve::cli
