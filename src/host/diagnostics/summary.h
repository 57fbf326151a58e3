// The traffic of a process per transport, in one line.
//
//   nerve: pid 123 ib_write_bw: shm 1.2 GB (312 k packets, 2 copies per byte), udp 0,
//          direct 8 KB (1.0 k placed, 1 copy per byte), received 0, 0 retransmitted
//
// Bytes are payload, including retransmissions and READ responses. Copies are all copies between
// the memory of the two programs, including the kernel's (docs/host.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "host/host.h"
#include "host/peers/statistics_layout.h"

namespace nerve::host {

inline constexpr std::uint32_t kCopiesByRing = 2;
inline constexpr std::uint32_t kCopiesByUdp = 4;
inline constexpr std::uint32_t kCopiesByPlacing = 1;

struct Carried {
  std::uint64_t bytes{};
  std::uint64_t packets{};
};

struct Summary {
  std::uint64_t pid{};
  std::string program;
  Carried shm;
  Carried udp;
  std::uint64_t sealed{};          // among the packets of `udp`
  Carried direct;                  // written to or read from a peer's memory
  std::uint64_t gpu_bytes_sent{};  // from GPU memory, through a buffer of the host
  std::uint64_t gpu_bytes_received{};
  std::uint64_t gpu_bytes_direct{};  // among `direct`, from the memory of a GPU to that of a GPU
  std::uint64_t bytes_received{};
  std::uint64_t retransmitted{};
};

[[nodiscard]] Summary summary_of(std::uint64_t pid, std::string program,
                                 const DeviceCounters& counters);

// Takes the locks of the shards one after the other.
[[nodiscard]] Summary summarise(std::span<Shard* const> shards);

[[nodiscard]] std::string summary_line(const Summary& summary);

}  // namespace nerve::host
