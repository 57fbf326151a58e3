#include "cli/stat_table.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "host/diagnostics/amounts.h"

namespace nerve::cli {
namespace {

using host::ProcessReport;

std::uint64_t sum(const ProcessReport& report, std::span<const std::string_view> names) {
  std::uint64_t all = 0;
  for (const std::string_view name : names) all += report[std::string{name}];
  return all;
}

std::uint64_t naks_received(const ProcessReport& report) {
  return report["sequence_naks_received"] + report["rnr_naks_received"] +
         report["error_naks_received"];
}

std::uint64_t naks_sent(const ProcessReport& report) {
  return report["sequence_naks_sent"] + report["rnr_naks_sent"] + report["error_naks_sent"];
}

// Packets that came or should have left, and were thrown away.
std::uint64_t drops(const ProcessReport& report) {
  static constexpr std::array<std::string_view, 4> kByTheHost = {
      "packets_unreachable", "udp_bad_icrc", "udp_malformed", "udp_overflowed"};
  std::uint64_t all = sum(report, kByTheHost);
  for (const auto& [name, value] : report.counters) {
    if (name.starts_with("dropped_")) all += value;
  }
  return all;
}

// "1.2 GB/312 k": bytes and packets.
std::string way(const ProcessReport& report, const std::string& bytes, const std::string& packets) {
  if (report[packets] == 0) return "-";
  return host::bytes_text(report[bytes]) + " / " + host::count_text(report[packets]);
}

std::string rate(const ProcessReport& report, const Since& since) {
  const auto before = since.sent.find(report.pid);
  const std::uint64_t now = bytes_sent(report);
  if (before == since.sent.end() || now < before->second || since.seconds <= 0) return "-";
  const double each_second = static_cast<double>(now - before->second) / since.seconds;
  return host::bytes_text(static_cast<std::uint64_t>(each_second)) + "/s";
}

constexpr std::string_view kRow = "{:>8}  {:<16}{:>19}{:>19}{:>19}{:>10}{:>8}{:>9}{:>9}{:>8}";

}  // namespace

std::uint64_t bytes_sent(const ProcessReport& report) {
  static constexpr std::array<std::string_view, 3> kWays = {"shm_bytes_sent", "udp_bytes_sent",
                                                            "direct_bytes"};
  return sum(report, kWays);
}

SentBefore bytes_sent(std::span<const ProcessReport> reports) {
  SentBefore sent;
  for (const ProcessReport& report : reports) sent[report.pid] = bytes_sent(report);
  return sent;
}

std::string stat_table(std::span<const ProcessReport> reports, const std::optional<Since>& since) {
  std::string text =
      fmt::format(kRow, "pid", "program", "shm sent / packets", "udp sent / packets",
                  "direct / times", "received", "resent", "timeouts", "naks i/o", "dropped");
  text += since ? fmt::format("{:>12}\n", "now") : "\n";
  for (const ProcessReport& report : reports) {
    if (!report.answered) {
      text += fmt::format("{:>8}  {:<16}  does not answer: it is stopped, or has no device open\n",
                          report.pid, report.program);
      continue;
    }
    text += fmt::format(
        kRow, report.pid, report.program, way(report, "shm_bytes_sent", "shm_packets_sent"),
        way(report, "udp_bytes_sent", "udp_packets_sent"),
        way(report, "direct_bytes", "direct_times"), host::bytes_text(report["bytes_received"]),
        host::count_text(report["retransmitted"]), host::count_text(report["timeouts"]),
        host::count_text(naks_received(report)) + "/" + host::count_text(naks_sent(report)),
        host::count_text(drops(report)));
    text += since ? fmt::format("{:>12}\n", rate(report, *since)) : "\n";
  }
  return text;
}

std::string stat_json(const ProcessReport& report) {
  nlohmann::ordered_json line{
      {"pid", report.pid}, {"program", report.program}, {"answers", report.answered}};
  for (const auto& [name, value] : report.counters) {
    if (name != "pid") line[name] = value;
  }
  return line.dump() + "\n";
}

}  // namespace nerve::cli
