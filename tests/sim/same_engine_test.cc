// Goal: the simulator's NIC is the live engine, and the simulator adds nothing: the same messages
// produce the same frames. Method: random operations of random sizes, performed by two directly
// connected engines and by two NICs of a fabric; compared frame by frame, completion by completion,
// byte by byte.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "tests/sim/two_worlds.h"

namespace nerve::sim::same_engine_test {
namespace {

using nic::SendOp;
using test::DirectWorld;
using test::SeenFrame;
using test::SimulatedWorld;
using test::Station;
using test::World;

struct Operation {
  std::uint32_t from{};
  SendOp op{};
  std::uint64_t local{};
  std::uint64_t remote{};
  std::uint32_t length{};
  std::uint32_t immediate{};
};

Operation random_operation(Prng& prng) {
  static constexpr SendOp kOps[] = {SendOp::kSend,       SendOp::kSendImm, SendOp::kWrite,
                                    SendOp::kWriteImm,   SendOp::kRead,    SendOp::kFetchAdd,
                                    SendOp::kCompareSwap};
  Operation made;
  made.from = static_cast<std::uint32_t>(prng.below(2));
  made.op = kOps[prng.below(std::size(kOps))];
  const bool atomic = made.op == SendOp::kFetchAdd || made.op == SendOp::kCompareSwap;
  const std::uint64_t most = prng.chance(300) ? Station::kBytes / 2 : 3000;
  made.length = atomic ? 8 : static_cast<std::uint32_t>(prng.below(most));
  made.local = prng.below(Station::kBytes / 2 - made.length + 1) / 8 * 8;
  // The returned value must not overwrite the source of another message.
  if (atomic) made.local += Station::kBytes / 2;
  made.remote = prng.below(Station::kBytes / 2 - made.length + 1) / 8 * 8;
  made.immediate = static_cast<std::uint32_t>(prng.next());
  return made;
}

void post(World& world, const Operation& operation) {
  if (operation.op == SendOp::kSend || operation.op == SendOp::kSendImm ||
      operation.op == SendOp::kWriteImm) {
    world.at(1 - operation.from).post_receive();
  }
  world.at(operation.from)
      .post({.wr_id = operation.immediate,
             .op = operation.op,
             .remote_address = Station::kBase + operation.remote,
             .immediate = operation.immediate,
             .compare_or_add = operation.immediate,
             .swap = 42},
            operation.local, operation.length);
}

void expect_same_ends(World& direct, World& simulated, std::uint64_t seed) {
  for (const std::uint32_t end : {0U, 1U}) {
    EXPECT_EQ(direct.at(end).completions, simulated.at(end).completions) << "seed " << seed;
    EXPECT_TRUE(direct.at(end).memory == simulated.at(end).memory) << "seed " << seed;
  }
}

std::vector<SeenFrame> from(const World& world, std::uint32_t end) {
  std::vector<SeenFrame> some;
  std::ranges::copy_if(world.seen, std::back_inserter(some),
                       [&](const SeenFrame& frame) { return frame.from == end; });
  return some;
}

SimNicConfig config_for(Prng& prng) {
  SimNicConfig config;
  config.mtu = prng.chance(500) ? nic::Mtu::k1024 : nic::Mtu::k4096;
  config.engine.flow_control.ack_every = prng.chance(500) ? 1 : 32;
  return config;
}

}  // namespace

TEST(SameEngine, SequentialMessagesProduceTheSameFrames) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Prng prng{seed};
    const SimNicConfig config = config_for(prng);
    SimulatedWorld simulated{config};
    DirectWorld direct{simulated.engine_config(), config.mtu};
    for (int i = 0; i < 20; ++i) {
      const Operation operation = random_operation(prng);
      for (World* world : std::initializer_list<World*>{&direct, &simulated}) {
        post(*world, operation);
        world->settle();
      }
      ASSERT_EQ(from(direct, 0), from(simulated, 0)) << "seed " << seed << ", message " << i;
      ASSERT_EQ(from(direct, 1), from(simulated, 1)) << "seed " << seed << ", message " << i;
    }
    expect_same_ends(direct, simulated, seed);
    EXPECT_GT(direct.seen.size(), 40U);
  }
}

// With many messages in flight, responses depend on when requests arrive and may be coalesced; the
// requests of each side do not.
TEST(SameEngine, ConcurrentMessagesProduceTheSameRequests) {
  const auto requests = [](const World& world, std::uint32_t end) {
    std::vector<std::tuple<std::uint8_t, std::uint32_t, std::uint32_t>> some;
    for (const SeenFrame& frame : from(world, end)) {
      const wire::Operation operation = wire::operation_of(frame.headers.bth.opcode);
      if (operation == wire::Operation::kAcknowledge) continue;
      some.emplace_back(frame.headers.bth.opcode, frame.headers.bth.psn.value(),
                        frame.payload_length);
    }
    return some;
  };
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Prng prng{seed + 1000};
    const SimNicConfig config = config_for(prng);
    SimulatedWorld simulated{config};
    DirectWorld direct{simulated.engine_config(), config.mtu};
    for (int i = 0; i < 30; ++i) {
      Operation operation = random_operation(prng);
      // Only one side sends. A READ would overwrite the source of other messages.
      operation.from = 0;
      if (operation.op == SendOp::kRead) operation.op = SendOp::kWrite;
      for (World* world : std::initializer_list<World*>{&direct, &simulated}) {
        post(*world, operation);
      }
    }
    direct.settle();
    simulated.settle();
    EXPECT_EQ(requests(direct, 0), requests(simulated, 0)) << "seed " << seed;
    expect_same_ends(direct, simulated, seed);
  }
}

}  // namespace nerve::sim::same_engine_test
