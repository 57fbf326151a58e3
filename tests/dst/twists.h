// Additional behaviours of worlds. Each family of worlds draws its own selection, from a separate
// generator, so that a seed of the common family keeps its history whatever is added here.
#pragma once

#include <cstdint>

#include "tests/dst/terms.h"

namespace nerve::dst {

enum class Family : std::uint8_t {
  kCommon,    // none of these
  kLives,     // how connections begin and end
  kMemory,    // keys revoked while in use, and windows that grant every right
  kReceives,  // receive and completion queues that run low, overflow or run dry
};

// How the engines of a world recover from loss. Everything else stays the same.
enum class Recovery : std::uint8_t {
  kGoBackN,
  kSelective,        // all use selective repeat without negotiation
  kTrimming,         // all use selective repeat and entropy values, and the network trims packets
  kReceiverCredits,  // the same, and receivers grant credits
  kMixed,            // some offer selective repeat, some send tail probes, some both, some neither
};

[[nodiscard]] constexpr bool trims(Recovery recovery) {
  return recovery == Recovery::kTrimming || recovery == Recovery::kReceiverCredits;
}

struct Twists {
  // A connection that ended begins again immediately, while packets of the previous life are in
  // flight, and hosts have so few QPs that numbers are reused.
  bool hasty_lives{};
  // Retry counts from 0 to 7 on any network, timeouts from none to long ones.
  bool any_retries{};
  // Each life has an MTU of its own.
  bool other_mtus{};
  // PSNs start a packet or two before the wrap, with long requests.
  bool wraps{};
  // The number of times that the clock jumps forward by up to days between two calls, for all
  // hosts.
  std::uint32_t clock_jumps{};
  // The time at which the world begins: zero, just before time wraps, or so late that a time of
  // zero compares as future.
  enum class Clock : std::uint8_t { kZero, kBeforeWrap, kLate };
  Clock clock{Clock::kZero};
  // Regions are deregistered while requests use them, on either side, and their memory is reused
  // immediately.
  bool regions_vanish{};
  // READs and atomics also use windows and small regions, some of which do not grant atomics.
  bool window_atomics{};
  // CQs that are too small and not polled for a while.
  bool neglected_cqs{};
  // SRQs with limits. Where receives are short, no message holds one for longer than a call, so
  // that the moment of the event is known exactly.
  bool srq_limits{};
  bool short_receives{};
  // Many senders and few receives, all from one SRQ.
  bool rnr_storm{};
  // UD QPs receive from SRQs of another protection domain.
  bool datagram_srqs{};
  // One host has dozens of QPs on one CQ, which is rarely polled. QPs are reset and destroyed while
  // completions, theirs and others', wait in it.
  bool crowded_cq{};
  // XRC QPs of a host take receives from several SRQs of one domain.
  bool xrc_targets{};
};

[[nodiscard]] Twists draw_twists(Family family, std::uint64_t seed);
// Applies the twists to a connection.
void twist(Terms& terms, const Twists& twists, Prng& prng);

}  // namespace nerve::dst
