#include "cli/embedded_json.h"

#include <algorithm>

namespace nerve::cli {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

// `</script` and `<!--` would end the element, so every `<` is replaced: outside strings JSON has
// none, inside strings \u003c means the same. White space is a third of an indented file.
void append_embedded_json(std::string& page, std::string_view json) {
  bool in_string = false;
  bool escaped = false;
  for (const char c : json) {
    if (!in_string && is_space(c)) continue;
    if (c == '<') {
      page += "\\u003c";
    } else {
      page += c;
    }
    if (c == '"' && !escaped) in_string = !in_string;
    escaped = in_string && c == '\\' && !escaped;
  }
}

std::string page_with(std::string_view page, std::string_view marker,
                      std::string_view element_class, std::span<const std::string_view> documents) {
  constexpr std::size_t kAround = 80;  // the tags of an element
  const std::size_t at = std::min(page.find(marker), page.size());
  std::size_t size = page.size();
  for (const std::string_view document : documents) size += document.size() + kAround;
  std::string filled;
  filled.reserve(size);
  filled += page.substr(0, at);
  for (const std::string_view document : documents) {
    filled += R"(<script type="application/json" class=")";
    filled += element_class;
    filled += R"(">)";
    append_embedded_json(filled, document);
    filled += "</script>\n";
  }
  filled += page.substr(std::min(at + marker.size(), page.size()));
  return filled;
}

}  // namespace nerve::cli
