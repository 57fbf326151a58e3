#include "cli/trace_page.h"

namespace nerve::cli {
namespace {

constexpr std::string_view kBefore =
    "<!doctype html>\n<meta charset=\"utf-8\">\n<title>nerve trace</title>\n"
    "<script type=\"application/json\" id=\"nerve-trace\">";
constexpr std::string_view kAfter =
    "</script>\n<p>This build has no page for traces; the document is in the source of this "
    "one.</p>\n";

}  // namespace

std::string trace_page(std::string_view json) {
  std::string page{kBefore};
  for (const char c : json) {
    if (c == '<') {
      page += "\\u003c";  // `</script` would end the element
    } else {
      page += c;
    }
  }
  page += kAfter;
  return page;
}

}  // namespace nerve::cli
