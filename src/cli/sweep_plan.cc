#include "cli/sweep_plan.h"

#include <algorithm>

namespace nerve::cli {
namespace {

// Splits at each comma outside quotes.
std::vector<std::string> values_of(std::string_view text) {
  std::vector<std::string> values(1);
  char quote = 0;
  for (const char c : text) {
    if (quote == 0 && c == ',') {
      values.emplace_back();
      continue;
    }
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    }
    values.back() += c;
  }
  return values;
}

}  // namespace

Result<Axis, std::string> parse_axis(std::string_view text) {
  const auto whole = sim::parse_override(text);
  if (!whole)
    return Unexpected{"'" + std::string{text} +
                      "': write key=a,b,c, as in fabric.routing=ecmp,spray"};
  Axis axis{whole->key, values_of(whole->value)};
  if (std::ranges::find(axis.values, "") != axis.values.end()) {
    return Unexpected{"'" + std::string{text} + "': a value is empty; remove the comma"};
  }
  return axis;
}

std::vector<Cell> cells_of(const std::vector<Axis>& axes) {
  std::vector<Cell> cells(1);
  for (const Axis& axis : axes) {
    if (cells.size() * axis.values.size() > kMostCells) return {};
    std::vector<Cell> more;
    for (const Cell& cell : cells) {
      for (const std::string& value : axis.values) {
        more.push_back(cell);
        more.back().values.push_back({axis.key, value});
      }
    }
    cells = std::move(more);
  }
  return cells;
}

std::string name_of(const Cell& cell) {
  std::string name;
  for (const sim::Override& one : cell.values) {
    const std::size_t dot = one.key.rfind('.');
    const std::string last = dot == std::string::npos ? one.key : one.key.substr(dot + 1);
    name += (name.empty() ? "" : ", ") + last + "=" + one.value;
  }
  return name;
}

}  // namespace nerve::cli
