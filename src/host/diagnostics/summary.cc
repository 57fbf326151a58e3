#include "host/diagnostics/summary.h"

#include <string_view>

#include "host/diagnostics/amounts.h"
#include "host/diagnostics/report.h"
#include "host/shard.h"

namespace nerve::host {
namespace {

std::string transport_text(std::string_view name, const Carried& carried, std::string_view unit,
                           std::uint32_t copies, std::uint64_t sealed = 0) {
  std::string text = std::string{name} + " " + bytes_text(carried.bytes);
  if (carried.packets == 0) return text;
  text += " (" + count_text(carried.packets) + " " + std::string{unit};
  if (carried.bytes > 0) {
    text += ", " + std::to_string(copies) + (copies == 1 ? " copy" : " copies") + " per byte";
  }
  if (sealed > 0) {
    text += sealed == carried.packets ? ", sealed" : ", " + count_text(sealed) + " of them sealed";
  }
  return text + ")";
}

}  // namespace

Summary summary_of(std::uint64_t pid, std::string program, const DeviceCounters& sum) {
  return {.pid = pid,
          .program = std::move(program),
          .shm = {.bytes = sum.transports.shm_bytes, .packets = sum.transports.shm_frames},
          .udp = {.bytes = sum.transports.udp_bytes, .packets = sum.transports.udp_frames},
          .sealed = sum.transports.sealed_frames,
          .direct = {.bytes = sum.direct.bytes(), .packets = sum.direct.times()},
          .gpu_bytes_sent = sum.engine.late_bytes_sent,
          .gpu_bytes_received = sum.engine.late_bytes_received,
          .gpu_bytes_direct = sum.engine.late_bytes_copied,
          .bytes_received = sum.engine.bytes_received,
          .retransmitted = sum.engine.retransmitted_frames};
}

Summary summarise(std::span<Shard* const> shards) {
  return summary_of(own_pid(), own_name(), totals_of(shards).traffic);
}

std::string summary_line(const Summary& summary) {
  std::string gpu;
  if (summary.gpu_bytes_direct > 0) {
    gpu += ", GPU to GPU " + bytes_text(summary.gpu_bytes_direct) + " (direct)";
  }
  if (summary.gpu_bytes_sent + summary.gpu_bytes_received > 0) {
    gpu += ", GPU memory " + bytes_text(summary.gpu_bytes_sent) + " sent and " +
           bytes_text(summary.gpu_bytes_received) + " received (staged)";
  }
  return "pid " + std::to_string(summary.pid) + " " + summary.program + ": " +
         transport_text("shm", summary.shm, "packets", kCopiesByRing) + ", " +
         transport_text("udp", summary.udp, "packets", kCopiesByUdp, summary.sealed) + ", " +
         transport_text("direct", summary.direct, "placed", kCopiesByPlacing) + ", received " +
         bytes_text(summary.bytes_received) + ", " + count_text(summary.retransmitted) +
         " retransmitted" + gpu;
}

}  // namespace nerve::host
