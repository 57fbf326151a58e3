#include "sim/results/why_result.h"

#include <string_view>

namespace nerve::sim {

std::vector<std::string> pieces_of(const JobWhy& why) {
  std::vector<std::string> pieces;
  std::string_view rest = why.paragraph;
  const auto add = [&](std::string_view piece) {
    while (piece.starts_with(' ')) piece.remove_prefix(1);
    while (piece.ends_with(' ')) piece.remove_suffix(1);
    if (!piece.empty()) pieces.emplace_back(piece);
  };
  for (const CauseResult& cause : why.causes) {
    const std::size_t at = rest.find(cause.text);
    if (at == std::string_view::npos || cause.text.empty()) continue;  // not among those shown
    add(rest.substr(0, at));
    add(cause.text);
    rest.remove_prefix(at + cause.text.size());
  }
  add(rest);
  return pieces;
}

}  // namespace nerve::sim
