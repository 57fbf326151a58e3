// What a world may do beside the common stock. Each family of worlds draws its own selection, from
// a generator apart, so that a seed of the common family keeps its history whatever is added here.
#pragma once

#include <cstdint>

#include "tests/dst/terms.h"

namespace nerve::dst {

enum class Family : std::uint8_t {
  kCommon,    // none of these
  kLives,     // how connections begin and end
  kMemory,    // keys that go away while they are in use, and windows that give every right
  kReceives,  // queues that run low, over or dry
};

// How the engines of a world recover from losses. All else in the world stays the same.
enum class Recovery : std::uint8_t {
  kGoBackN,
  kSelective,  // all by selective repeat, known to each other
  kMixed,      // some offer selective repeat, some send tail probes, some both, some neither
};

struct Twists {
  // A connection that ended begins again at once, while packets of the life before are on their
  // way, and hosts have so few QPs that numbers come round.
  bool hasty_lives{};
  // Retry counts from 0 to 7 on any network, timeouts from none to long ones.
  bool any_retries{};
  // Each life has an MTU of its own.
  bool other_mtus{};
  // Streams begin a packet or two before PSNs wrap, with long requests.
  bool wraps{};
  // So often the clock goes forward by up to days between two calls, for all hosts.
  std::uint32_t clock_jumps{};
  // What the clock shows when the world begins: nothing, the last moments before instants wrap, or
  // so long a time that an instant of zero lies in the future.
  enum class Clock : std::uint8_t { kZero, kBeforeWrap, kLate };
  Clock clock{Clock::kZero};
  // Regions are deregistered under the requests that use them, on either side, and their memory is
  // put to other use at once.
  bool regions_vanish{};
  // READs and atomics go through windows and small regions too, some of which give no right to
  // atomics.
  bool window_atomics{};
  // CQs that are too small and not polled for a while.
  bool neglected_cqs{};
  // SRQs with limits; where receives are short, no message holds one for longer than a call, so
  // that the moment of the event is known exactly.
  bool srq_limits{};
  bool short_receives{};
  // Many senders and few receives, all of one SRQ.
  bool rnr_storm{};
  // UD QPs receive from SRQs, which belong to another protection domain than they.
  bool datagram_srqs{};
  // One host has dozens of QPs on one CQ, which is polled seldom. QPs are reset and destroyed while
  // completions, theirs and others', wait in it.
  bool crowded_cq{};
  // XRC QPs of a host take receives from several SRQs of one domain.
  bool xrc_targets{};
};

[[nodiscard]] Twists draw_twists(Family family, std::uint64_t seed);
// What they ask of a connection.
void twist(Terms& terms, const Twists& twists, Prng& prng);

}  // namespace nerve::dst
