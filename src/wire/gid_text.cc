#include <charconv>

#include "wire/describe.h"

namespace nerve::wire {
namespace {

void append(std::string& to, unsigned value, int base) {
  char digits[8];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value, base).ptr;
  to.append(digits, end);
}

struct Run {
  std::size_t begin{8};
  std::size_t length{};
};

// The longest run of zero groups; the first of equal ones. A single group is not abbreviated.
Run longest_zeros(const std::array<unsigned, 8>& groups) {
  Run best;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::size_t end = i;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - i > best.length && end - i > 1) best = {i, end - i};
  }
  return best;
}

std::string ipv4_text(const Gid& gid) {
  std::string text;
  for (std::size_t i = 12; i < 16; ++i) {
    if (i > 12) text += '.';
    append(text, static_cast<unsigned>(gid.bytes[i]), 10);
  }
  return text;
}

}  // namespace

std::string to_string(const Gid& gid) {
  if (gid.is_ipv4()) return ipv4_text(gid);
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = static_cast<unsigned>(load_be<2>(gid.bytes, 2 * i));
  }
  const Run zeros = longest_zeros(groups);
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == zeros.begin) {
      text += "::";
      i += zeros.length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    append(text, groups[i], 16);
  }
  return text;
}

}  // namespace nerve::wire
