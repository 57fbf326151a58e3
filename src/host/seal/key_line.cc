#include "host/seal/key_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>

#include "host/seal/hex.h"
#include "host/seal/policy.h"
#include "host/seal/suites.h"
#include "wire/describe.h"

namespace nerve::host {
namespace {

constexpr std::uint32_t kMaxQpn = 0xff'ffff;

std::string hex_number(std::uint32_t value, int width) {
  std::array<char, 16> text{};
  (void)std::snprintf(text.data(), text.size(), "0x%0*x", width, value);
  return text.data();
}

std::optional<std::uint32_t> read_number(std::string_view text, std::uint32_t largest) {
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && value <= largest ? std::optional{value} : std::nullopt;
}

std::string_view next_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(line.size(), word.size() + 1));
  return word;
}

}  // namespace

std::string KeyLine::text() const {
  std::string line;
  line.reserve(256);  // growing would leave copies of the secret behind
  line += kKeyLineStart;
  line += name_of(suite) + " " + wire::to_string(source) + " " + wire::to_string(destination);
  line += " " + hex_number(qpn.value(), 6) + " " + hex_number(spi, 8) + " ";
  std::string digits = hex_of(secret.bytes());
  line += digits;
  ::explicit_bzero(digits.data(), digits.size());
  line += "\n";
  return line;
}

Result<KeyLine, std::string> KeyLine::parse(std::string_view line) {
  using Problem = Unexpected<std::string>;
  if (!line.starts_with(kKeyLineStart)) return Problem{"it does not begin with nerve-seal"};
  line.remove_prefix(kKeyLineStart.size());
  const auto suites = parse_suites(next_word(line));
  if (!suites || suites->size() != 1) {
    return Problem{"word 2 must be a suite, as in aes128-gcm"};
  }
  const auto source = parse_address(next_word(line));
  const auto destination = parse_address(next_word(line));
  if (!source || !destination) {
    return Problem{"words 3 and 4 must be addresses, as in 10.0.0.1 or fd00::1"};
  }
  const auto qpn = read_number(next_word(line), kMaxQpn);
  if (!qpn) return Problem{"word 5 must be a QPN of 24 bits, as in 0x000012"};
  const auto spi = read_number(next_word(line), ~std::uint32_t{0});
  if (!spi) return Problem{"word 6 must be an SPI of 32 bits, as in 0x1a2b3c4d"};
  KeyLine key{.suite = suites->front(),
              .source = *source,
              .destination = *destination,
              .qpn = Qpn{*qpn},
              .spi = *spi,
              .secret = {}};
  if (!read_hex(line, key.secret.bytes())) {
    return Problem{"word 7 must be 64 hexadecimal digits, and the last word"};
  }
  return key;
}

}  // namespace nerve::host
