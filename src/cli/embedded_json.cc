#include "cli/embedded_json.h"

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

}  // namespace nerve::cli
