#include "host/diagnostics/summary.h"

#include <string_view>

#include "host/diagnostics/amounts.h"
#include "host/diagnostics/report.h"
#include "host/shard.h"

namespace nerve::host {
namespace {

std::string way_text(std::string_view name, const Carried& carried, std::string_view unit,
                     std::uint32_t copies) {
  std::string text = std::string{name} + " " + bytes_text(carried.bytes);
  if (carried.packets == 0) return text;
  text += " (" + count_text(carried.packets) + " " + std::string{unit};
  if (carried.bytes > 0) {
    text += ", " + std::to_string(copies) + (copies == 1 ? " copy" : " copies") + " per byte";
  }
  return text + ")";
}

}  // namespace

Summary summarise(std::span<Shard* const> shards) {
  const Totals sum = totals_of(shards);
  return {.pid = own_pid(),
          .program = own_name(),
          .shm = {.bytes = sum.transports.shm_bytes, .packets = sum.transports.shm_frames},
          .udp = {.bytes = sum.transports.udp_bytes, .packets = sum.transports.udp_frames},
          .direct = {.bytes = sum.direct_bytes, .packets = sum.direct_times},
          .bytes_received = sum.engines.bytes_received,
          .retransmitted = sum.engines.retransmitted_frames};
}

std::string summary_line(const Summary& summary) {
  return "pid " + std::to_string(summary.pid) + " " + summary.program + ": " +
         way_text("shm", summary.shm, "packets", kCopiesByRing) + ", " +
         way_text("udp", summary.udp, "packets", kCopiesByUdp) + ", " +
         way_text("direct", summary.direct, "placed", kCopiesByPlacing) + ", received " +
         bytes_text(summary.bytes_received) + ", " + count_text(summary.retransmitted) +
         " retransmitted";
}

}  // namespace nerve::host
