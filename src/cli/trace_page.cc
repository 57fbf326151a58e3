#include "cli/trace_page.h"

#include "cli/embedded_json.h"

namespace nerve::cli {

std::string trace_page(std::string_view page, std::string_view json) {
  return page_with(page, "<!--trace-->", "nerve-trace", {&json, 1});
}

}  // namespace nerve::cli
