#include "tests/bad_days/worlds/plan.h"

#include "tests/bad_days/worlds/planner.h"

namespace worlds {
namespace {

std::uint32_t draw_psn(nerve::Prng& prng) {
  // Half of all streams cross the PSN wrap.
  constexpr std::uint32_t kPsns = 0x100'0000;
  if (prng.chance(500)) return kPsns - static_cast<std::uint32_t>(prng.between(1, 60));
  return static_cast<std::uint32_t>(prng.next()) % kPsns;
}

ReceiveQueue draw_queue(nerve::Prng& prng, bool bulk) {
  return {.depth = static_cast<std::uint32_t>(prng.between(1, prng.chance(500) ? 4 : 32)),
          .capacity = prng.between(1, bulk || prng.chance(600) ? 600 : 3000),
          .max_sge = static_cast<std::uint32_t>(prng.between(1, 4)),
          .late = prng.chance(400),
          .receives = {}};
}

QpPlan draw_qp(nerve::Prng& prng, bool bulk) {
  QpPlan qp;
  const std::uint64_t kind = prng.below(10);
  qp.type = kind < 8 ? IBV_QPT_RC : kind < 9 ? IBV_QPT_UC : IBV_QPT_UD;
  constexpr std::array kMtus{IBV_MTU_256,  IBV_MTU_256,  IBV_MTU_512,
                             IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096};
  qp.mtu = kMtus[prng.below(kMtus.size())];
  qp.depth = static_cast<std::uint32_t>(prng.between(2, prng.chance(500) ? 6 : 32));
  qp.max_sge = static_cast<std::uint32_t>(prng.between(1, 6));
  qp.max_inline = prng.chance(500) ? 0 : static_cast<std::uint32_t>(prng.between(1, 256));
  qp.read_depth = static_cast<std::uint8_t>(prng.between(1, 8));
  // Short, so that a lost last packet does not cost much; long enough that eight of them (a second)
  // outlast the times in which a loaded machine does not run a process. While a receive is missing,
  // every lost RNR NAK costs a retry, and only progress restores it.
  qp.timeout = 15;
  qp.rnr_timer = static_cast<std::uint8_t>(prng.between(1, 12));
  qp.signal_all = prng.chance(200);
  qp.wr_calls = prng.chance(300);
  qp.pauses = qp.type == IBV_QPT_RC && prng.chance(150);
  qp.gid_index = prng.below(2);
  for (std::size_t side = 0; side < 2; ++side) {
    qp.psn[side] = draw_psn(prng);
    qp.ends[side].one_by_one = prng.chance(250);
    qp.ends[side].shared_receives = qp.type == IBV_QPT_RC && prng.chance(350);
    qp.ends[side].receives = draw_queue(prng, bulk);
  }
  return qp;
}

SidePlan draw_side(nerve::Prng& prng, bool bulk) {
  SidePlan side;
  side.events = prng.chance(400);
  side.cqs = static_cast<CqLayout>(prng.below(3));
  side.poll_batch = static_cast<int>(prng.between(1, prng.chance(500) ? 1 : 16));
  side.extended_cqs = prng.chance(300);
  side.resizes_cqs = prng.chance(300);
  if (side.events && prng.chance(300)) {
    side.moderation_count = static_cast<std::uint16_t>(prng.between(1, 8));
    side.moderation_us = static_cast<std::uint16_t>(prng.between(1, 500));
  }
  side.other_iova = prng.chance(300);
  side.shared = draw_queue(prng, bulk);
  return side;
}

}  // namespace

const char* name_of(Op op) {
  constexpr std::array kNames{"SEND", "SEND_IMM",     "SEND_INV",  "WRITE", "WRITE_IMM",
                              "READ", "COMPARE_SWAP", "FETCH_ADD", "BIND",  "LOCAL_INV"};
  return kNames[static_cast<std::size_t>(op)];
}

std::size_t bytes_of(ibv_mtu mtu) {
  constexpr std::size_t kHalfOfLeast = 128;
  return kHalfOfLeast << static_cast<unsigned>(mtu);
}

World draw_world(std::uint64_t seed, const Settings& settings) {
  nerve::Prng prng{seed};
  World world{
      .seed = seed, .settings = settings, .qps = {}, .sides = {}, .windows = {}, .memories = {}};
  // Enough requests to fill rings and windows; the data they receive must fit into the memory.
  const bool bulk = prng.chance(60);
  for (std::size_t side = 0; side < 2; ++side) {
    world.memories.emplace_back(prng.next());
    world.sides[side] = draw_side(prng, bulk);
    world.sides[side].counter_at = *world.memories[side].take(Zone::kOpen, 8, 8, prng);
  }
  for (std::uint64_t count = prng.between(1, 4); count > 0; --count) {
    world.qps.push_back(draw_qp(prng, bulk));
  }
  Planner planner{world, prng};
  for (std::uint64_t count = bulk ? prng.between(100, 200) : prng.between(1, 40); count > 0;
       --count) {
    planner.add(prng.below(world.qps.size()), prng.below(2));
  }
  for (std::size_t qp = 0; qp < world.qps.size(); ++qp) {
    for (EndPlan& end : world.qps[qp].ends) {
      if (!end.requests.empty()) end.requests.back().signaled = true;
    }
    planner.strike(qp);
  }
  planner.add_receives();
  return world;
}

}  // namespace worlds
