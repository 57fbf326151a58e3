#include "cli/report_page.h"

namespace nerve::cli {
namespace {

constexpr std::string_view kMarker = "<!--results-->";
constexpr std::string_view kBefore = R"(<script type="application/json" class="nerve-result">)";
constexpr std::string_view kAfter = "</script>\n";

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Appends JSON so that it is safe in a script element. `</script` and `<!--` would end the element,
// so every `<` is replaced: outside strings JSON has none, inside strings \u003c means the same.
// White space between tokens, a third of an indented file, is removed.
void append_json(std::string& page, std::string_view json) {
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
    append_json(filled, json);
    filled += kAfter;
  }
  filled += page.substr(marker + kMarker.size());
  return filled;
}

}  // namespace nerve::cli
