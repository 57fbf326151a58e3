#include "host/diagnostics/amounts.h"

#include <array>
#include <string_view>

namespace nerve::host {
namespace {

constexpr std::array<std::string_view, 7> kUnits = {"", "k", "M", "G", "T", "P", "E"};

std::string scaled(std::uint64_t value, std::string_view thousand, std::string_view suffix) {
  // Round to tenths, so that a value that rounds up to 1000 takes the next unit.
  std::uint64_t whole = value;
  std::uint64_t tenth = 0;
  std::size_t unit = 0;
  while (whole >= 1000) {
    const std::uint64_t tenths = whole / 100 + (whole % 100 >= 50 ? 1 : 0);
    whole = tenths / 10;
    tenth = tenths % 10;
    ++unit;
  }
  std::string text = std::to_string(whole);
  if (unit > 0 && whole < 10) text += "." + std::to_string(tenth);
  const std::string name = std::string{unit == 1 ? thousand : kUnits[unit]} + std::string{suffix};
  return name.empty() ? text : text + " " + name;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) { return bytes == 0 ? "0" : scaled(bytes, "K", "B"); }

std::string count_text(std::uint64_t count) { return scaled(count, "k", ""); }

}  // namespace nerve::host
