#include "cli/web_routes.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <charconv>
#include <cstdint>

#include "cli/web_reports.h"

namespace nerve::cli {
namespace {

constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kJson = "application/json";
constexpr std::string_view kPrivate =
    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n";
constexpr std::string_view kSandboxed =
    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
    "Content-Security-Policy: sandbox allow-scripts\r\n";
constexpr std::string_view kReports = "reports/";

// Takes as long for every text of that length.
bool same_token(std::string_view a, std::string_view b) {
  unsigned difference = a.size() != b.size() ? 1 : 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

}  // namespace

HttpAnswer WebRoutes::operator()(std::string_view path) const {
  path.remove_prefix(1);
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos || !same_token(path.substr(0, slash), token)) {
    return not_found("open the address that nerve web printed\n");
  }
  path.remove_prefix(slash + 1);
  if (path.empty()) return {.type = kHtml, .body = page, .headers = kPrivate};
  if (path == "sample.json") return {.type = kJson, .body = sample(), .headers = kPrivate};
  if (path == "reports.json") {
    return {.type = kJson, .body = reports_json(find_reports(reports)), .headers = kPrivate};
  }
  if (!path.starts_with(kReports)) return not_found("no such page\n");
  auto report = read_report_page(reports, percent_decoded(path.substr(kReports.size())));
  if (!report) return not_found(report.error());
  return {.type = kHtml, .body = *std::move(report), .headers = kSandboxed};
}

std::string random_token() {
  std::array<std::uint64_t, 2> bits{};
  while (::getrandom(bits.data(), sizeof bits, 0) != sizeof bits) {  // interrupted
  }
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && text.size() - i > 2) {
      const char* const digits = text.data() + i + 1;
      const auto [end, error] = std::from_chars(digits, digits + 2, value, 16);
      if (error == std::errc{} && end == digits + 2) {
        decoded += static_cast<char>(value);
        i += 2;
        continue;
      }
    }
    decoded += text[i];
  }
  return decoded;
}

}  // namespace nerve::cli
