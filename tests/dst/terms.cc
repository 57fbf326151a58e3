#include "tests/dst/terms.h"

#include <algorithm>
#include <array>

namespace nerve::dst {

using nic::Mtu;
using nic::QpType;

Psn draw_psn(Prng& prng) {
  // Half of all streams cross the wrap.
  if (prng.chance(500)) return Psn{0x100'0000U - static_cast<std::uint32_t>(prng.between(1, 60))};
  return Psn{static_cast<std::uint32_t>(prng.next())};
}

Mtu draw_mtu(Prng& prng) {
  constexpr std::array kMtus{Mtu::k256, Mtu::k256, Mtu::k512, Mtu::k1024, Mtu::k2048, Mtu::k4096};
  return kMtus[prng.below(kMtus.size())];
}

Terms draw_terms(Prng& prng, const Faults& faults, bool large) {
  Terms t;
  const std::uint64_t kind = prng.below(10);
  t.type = kind < 7 ? QpType::kRc : kind < 9 ? QpType::kUc : QpType::kXrcSend;
  t.mtu = draw_mtu(prng);
  const auto draw32 = [&](std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint32_t>(prng.between(low, high));
  };
  const auto draw8 = [&](std::uint64_t low, std::uint64_t high) {
    return static_cast<std::uint8_t>(prng.between(low, high));
  };
  t.caps = {.max_send_wr = draw32(2, prng.chance(500) ? 6 : 32),
            .max_recv_wr = draw32(1, prng.chance(500) ? 4 : 32),
            .max_send_sge = draw32(1, 8),
            .max_recv_sge = draw32(1, 8),
            .max_inline = prng.chance(500) ? 0 : draw32(1, 256)};
  t.read_depth = draw8(1, 8);
  // Longer than the round trip, so that nothing times out on a good network.
  t.timeout = draw8(8, 12);
  t.retry_count = faults.any() ? draw8(4, 7) : draw8(0, 7);
  t.rnr_retry = prng.chance(700) ? 7 : draw8(0, 6);
  t.rnr_timer = draw8(1, 18);
  t.signal_all = prng.chance(200);
  t.shared_receives = t.type == QpType::kXrcSend || (t.type == QpType::kRc && prng.chance(250));
  // On a network that duplicates, UC accepts a message twice, and with it a receive meant for
  // another.
  const bool may_join = t.type == QpType::kRc ||
                        (t.type == QpType::kUc && faults.duplication + faults.reordering == 0);
  t.common_receives = may_join && prng.chance(500);
  t.late_receives = t.type != QpType::kUc && prng.chance(400);
  t.receive_capacity = draw32(1, prng.chance(600) ? 600 : 3000);
  t.largest_message = large ? 65536 : bytes(t.mtu) * draw32(1, 6) + draw32(0, 3);
  if (large && prng.chance(300)) t.receive_capacity = 20'000;
  t.signaled_per_mille = draw32(200, 1000);
  t.bad_request_per_mille = prng.chance(400) ? draw32(10, 80) : 0;
  t.bad_receive_per_mille = prng.chance(150) ? draw32(5, 40) : 0;
  if (t.type == QpType::kRc && prng.chance(150)) {
    t.rate_limit = Rate::megabits(std::uint64_t{50} << prng.below(10));
  }
  t.disturbance_per_mille = prng.chance(300) ? 500 : 0;
  return t;
}

}  // namespace nerve::dst
