#include "cli/finding.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

namespace nerve::cli {
namespace {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kNote:
      return "note";
    case Verdict::kMissing:
      return "MISSING";
  }
  return "?";
}

}  // namespace

std::string finding_text(const Finding& finding) {
  std::string text =
      fmt::format("{:<8}{:<17}{}\n", name_of(finding.verdict), finding.name, finding.detail);
  if (!finding.fix.empty()) text += fmt::format("{:25}-> {}\n", "", finding.fix);
  return text;
}

std::string finding_json(const Finding& finding) {
  const nlohmann::ordered_json line{{"verdict", name_of(finding.verdict)},
                                    {"name", finding.name},
                                    {"detail", finding.detail},
                                    {"fix", finding.fix}};
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace nerve::cli
