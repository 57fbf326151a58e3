// The switches of one network of a scenario. Plain values; fabric/ implements them.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace nerve::sim {

// kEthernetCredits: Ethernet frames and marks, with credits per class as in InfiniBand (the
// credit-based flow control, CBFC, of Ultra Ethernet).
enum class LinkKind : std::uint8_t { kEthernet, kInfiniBand, kEthernetCredits };

[[nodiscard]] constexpr bool has_credits(LinkKind kind) { return kind != LinkKind::kEthernet; }
[[nodiscard]] constexpr bool is_ethernet(LinkKind kind) { return kind != LinkKind::kInfiniBand; }

// How a switch chooses among equal-cost paths.
enum class PathChoice : std::uint8_t {
  kEcmp,        // by a hash of the flow: packets keep their order
  kSpray,       // a different port for each packet
  kFlowlet,     // the shortest queue, chosen again after the flow has been idle for `flowlet_gap`
  kAdaptive,    // the shortest queue, for each packet
  kValiant,     // by a hash of the flow, through a third group of a dragonfly (fabric/detours.h)
  kControlled,  // by a hash of the flow, which a controller chooses (control/path_controller.h)
};

[[nodiscard]] constexpr bool is_by_hash(PathChoice choice) {
  return choice == PathChoice::kEcmp || choice == PathChoice::kControlled ||
         choice == PathChoice::kValiant;
}

// A share of the free memory: numerator / denominator.
struct Share {
  std::uint32_t numerator{1};
  std::uint32_t denominator{8};
};

// The packet memory of one Ethernet switch (fabric/shared_buffer.h).
struct BufferConfig {
  std::uint64_t bytes{32U << 20U};
  std::uint32_t reserve{4 << 10};       // per port and lossless class
  std::uint32_t resume_below{3 << 10};  // senders resume this far below the pause threshold
  Share pause_at{1, 8};                 // lossless
  Share drop_at{1, 1};                  // lossy
  std::uint8_t lossless{1U << 1U};      // a bit per traffic class; zero: no PFC
};

// ECN marking by queue length (fabric/marking.h).
struct MarkingConfig {
  std::uint64_t low{400'000};  // bytes in the queue
  std::uint64_t high{1'600'000};
  bool per_gigabit{};                  // low and high are for each Gb/s of a port's rate
  std::uint32_t per_million{200'000};  // the probability just below `high`
  bool on{true};
};

struct FabricConfig {
  LinkKind kind{LinkKind::kEthernet};  // of cables that do not specify one
  BufferConfig buffer{};
  MarkingConfig marking{};
  PathChoice path_choice{PathChoice::kEcmp};
  bool hash_alike{};  // ECMP: all switches use the same hash (polarisation)
  Duration flowlet_gap{std::chrono::microseconds{50}};
  Duration control_delay{std::chrono::microseconds{100}};
  bool cut_through{};
  Duration pfc_watchdog{};                   // how long a queue may be paused; zero: any time
  Duration switch_latency{};                 // from the ingress port to the egress queue
  std::uint32_t lane_buffer{64 << 10};       // with credits: per port and class
  std::uint32_t longest_packet{4096 + 128};  // for the PFC headroom
  bool telemetry{};
  // A data packet that finds its queue longer than `trim_at` loses its payload and goes on in
  // `trimmed_class`.
  bool trimming{};
  std::uint64_t trim_at{};  // bytes; zero: what the longest path holds (run_setup.cc)
  std::uint8_t trimmed_class{3};
  bool link_retry{};  // cables repeat damaged frames (LLR)
};

}  // namespace nerve::sim
