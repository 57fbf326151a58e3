#include "link/tap/fault_words.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "wire/opcode.h"

namespace nerve::link {
namespace {

constexpr unsigned kDigits = 9;  // after the point

// A decimal number in units of 10^-9. Rejects more than nine decimals, and values of a million or
// more.
std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  const auto [whole, rest] = split_once(text, ".");
  const std::string_view fraction = rest.value_or("0");
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (whole.empty() || whole.size() > 6 || fraction.empty() || fraction.size() > kDigits ||
      !std::ranges::all_of(whole, is_digit) || !std::ranges::all_of(fraction, is_digit)) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (const char c : whole) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  for (std::size_t i = 0; i < kDigits; ++i) {
    value = value * 10 + (i < fraction.size() ? static_cast<std::uint64_t>(fraction[i] - '0') : 0);
  }
  return value;
}

std::string upper(std::string_view text) {
  std::string out{text};
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

// Adds the opcodes of one name or prefix; false if there are none.
bool add_opcodes(std::string_view pattern, std::bitset<256>& opcodes) {
  if (pattern == "ACK") pattern = "ACKNOWLEDGE";
  bool any = false;
  for (unsigned code = 0; code < opcodes.size(); ++code) {
    const wire::OpcodeInfo* info = wire::find_opcode(static_cast<wire::Opcode>(code));
    if (info == nullptr) continue;
    const std::string_view name = info->name;
    const std::string_view bare = split_once(name, "_").second.value_or(name);
    if (!matches(name, pattern) && !matches(bare, pattern)) continue;
    opcodes.set(code);
    any = true;
  }
  return any;
}

}  // namespace

std::pair<std::string_view, std::optional<std::string_view>> split_once(
    std::string_view text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + separator.size())};
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::optional<Probability> parse_probability(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  // Reject `loss=1`: it would mean every packet, but is usually meant as one percent.
  const bool whole = text.find('.') == std::string_view::npos;
  if (!percent && whole && text != "0") return std::nullopt;
  auto parts = parse_decimal(text);
  if (!parts) return std::nullopt;
  if (percent && *parts % 100 != 0) return std::nullopt;  // finer than our unit
  if (percent) *parts /= 100;
  if (*parts > Probability::kCertain) return std::nullopt;
  return Probability{static_cast<std::uint32_t>(*parts)};
}

std::optional<Duration> parse_time(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::uint64_t picoseconds;
  };
  constexpr Unit kUnits[] = {
      {"ns", 1'000}, {"us", 1'000'000}, {"ms", 1'000'000'000}, {"s", 1'000'000'000'000}};
  constexpr std::uint64_t kLongest = 10'000'000'000'000;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto value = parse_decimal(text.substr(0, text.size() - unit.name.size()));
    if (!value) return std::nullopt;
    // The product of up to 10^15 and up to 10^12 does not fit in 64 bits.
    __extension__ using Wide = unsigned __int128;
    const Wide ps = static_cast<Wide>(*value) * unit.picoseconds / 1'000'000'000U;
    if (ps > kLongest) return std::nullopt;
    return Duration{static_cast<std::int64_t>(ps)};
  }
  return std::nullopt;
}

std::optional<FaultDelay> parse_delay(std::string_view text) {
  FaultDelay delay{.probability = {Probability::kCertain}};
  const auto [chance, after] = split_once(text, ":");
  if (after) {
    const auto probability = parse_probability(chance);
    if (!probability) return std::nullopt;
    delay.probability = *probability;
  }
  const auto [from, to] = split_once(after.value_or(text), "..");
  const auto least = parse_time(from);
  const auto most = to ? parse_time(*to) : least;
  if (!least || !most || *least > *most) return std::nullopt;
  delay.least = *least;
  delay.most = *most;
  return delay;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Qpn> parse_qpn(std::string_view text) {
  const auto value = parse_number(text);
  if (!value || *value > Qpn::kMask) return std::nullopt;
  return Qpn{static_cast<std::uint32_t>(*value)};
}

std::optional<FaultDrop> parse_drop(std::string_view text) {
  FaultDrop drop;
  const auto [first, second] = split_once(text, ":");
  if (second) {
    drop.qpn = parse_qpn(first);
    if (!drop.qpn) return std::nullopt;
  }
  const auto nth = parse_number(second.value_or(first));
  if (!nth || *nth == 0) return std::nullopt;
  drop.nth = *nth;
  return drop;
}

std::optional<std::bitset<256>> parse_opcodes(std::string_view text) {
  std::bitset<256> opcodes;
  std::optional<std::string_view> left = text;
  while (left) {
    const auto [name, rest] = split_once(*left, "|");
    if (!add_opcodes(upper(trimmed(name)), opcodes)) return std::nullopt;
    left = rest;
  }
  return opcodes;
}

}  // namespace nerve::link
