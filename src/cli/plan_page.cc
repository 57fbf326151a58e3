#include "cli/plan_page.h"

#include <array>

#include "cli/embedded_json.h"

namespace nerve::cli {

std::string plan_page(const std::string& plan_json) {
  const std::array<std::string_view, 1> documents{plan_json};
  return page_with(plan_template(), "<!--plan-->", "nerve-plan", documents);
}

}  // namespace nerve::cli
