// Goal: the data path does not allocate. Two engines exchange every kind of request; after a
// warm-up, in which tables and event queues reach their size, the allocation count must not change.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>

#include "nic/nic.h"
#include "tests/nic/pair.h"
#include "tests/nic_alloc/allocations.h"

namespace nerve::nic {
namespace {

using std::chrono::microseconds;
using test::End;
using test::EndSetup;

// Like test::Pair, but without a log, which would allocate.
class Stream : public test::JoinedEngines<Stream> {
 public:
  explicit Stream(const EndSetup& setup) : a{1, setup}, b{2, setup} { test::connect_ends(a, b); }
  // Runs until neither has anything to send or to wait for. Every `lose_every`th frame is lost.
  void run(std::uint32_t lose_every = 0) {
    lose_every_ = lose_every;
    for (bool busy = true; busy;) {
      while (step(true) | step(false)) {
      }
      busy = false;
      for (End* end : {&a, &b}) {
        const auto due = end->nic.next_deadline();
        if (!due) continue;
        if (*due > now) now = *due;
        end->nic.expire(now);
        busy = true;
      }
      for (End* end : {&a, &b}) collect(*end);
    }
  }

  End a;
  End b;
  std::uint64_t completed{};
  std::uint64_t events{};

  bool passes(bool, const wire::Frame&) {
    return lose_every_ == 0 || ++carried_ % lose_every_ != 0;
  }

 private:
  bool step(bool from_a) {
    now += microseconds{1};
    return carry(from_a);
  }
  void collect(End& end) {
    std::array<Completion, 16> some{};
    while (const std::size_t count = *end.nic.poll_cq(end.cq, some)) {
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(some[i].status, WcStatus::kSuccess);
      }
      completed += count;
    }
    while (end.nic.next_event()) ++events;
    EXPECT_TRUE(end.nic.arm_cq(end.cq, false));
  }

  std::uint32_t lose_every_{};
  std::uint32_t carried_{};
};

void post(Stream& stream, SendOp op, std::uint32_t length, SendFlags flags = {}, AhHandle ah = {}) {
  const bool ok = static_cast<bool>(stream.a.post({.op = op,
                                                   .flags = flags | SendFlags::kSignaled,
                                                   .remote_address = stream.b.at(8192),
                                                   .rkey = stream.b.keys.rkey,
                                                   .compare_or_add = 3,
                                                   .ah = ah,
                                                   .remote_qpn = stream.b.qpn(),
                                                   .remote_qkey = stream.b.attributes.qkey},
                                                  0, length));
  ASSERT_TRUE(ok);
}

void receive(Stream& stream) {
  const bool ok = static_cast<bool>(stream.b.post_receive(1, 16384, 8192));
  ASSERT_TRUE(ok);
}

// One request of each kind, twice around the send queue.
void reliable_round(Stream& stream, std::uint32_t lose_every) {
  for (int i = 0; i < 2; ++i) {
    for (int r = 0; r < 4; ++r) receive(stream);
    post(stream, SendOp::kSend, 8);
    post(stream, SendOp::kSendImm, 5000);
    post(stream, SendOp::kSend, 64, SendFlags::kInline | SendFlags::kSolicited);
    post(stream, SendOp::kWrite, 5000);
    post(stream, SendOp::kWriteImm, 100, SendFlags::kFence);
    post(stream, SendOp::kRead, 5000);
    post(stream, SendOp::kRead, 8);
    post(stream, SendOp::kCompareSwap, 8);
    post(stream, SendOp::kFetchAdd, 8);
    post(stream, SendOp::kAtomicWrite, 8);
    stream.run(lose_every);
  }
}

void expect_no_allocation(Stream& stream, const std::function<void()>& round) {
  for (int i = 0; i < 50; ++i) round();
  const std::uint64_t completed = stream.completed;
  const std::uint64_t before = test::allocations();
  for (int i = 0; i < 50; ++i) round();
  EXPECT_EQ(test::allocations(), before);
  EXPECT_GT(stream.completed, completed) << "nothing happened at all";
}

TEST(DataPath, TheCounterCounts) {
  const std::uint64_t before = test::allocations();
  const auto one = std::make_unique<int>(1);
  EXPECT_EQ(test::allocations(), before + 1);
}

TEST(DataPath, OfReliableConnectionsAllocatesNothing) {
  for (const bool srq : {false, true}) {
    Stream stream{EndSetup{.srq = srq}};
    expect_no_allocation(stream, [&] { reliable_round(stream, 0); });
  }
}

TEST(DataPath, OfALossyNetworkAllocatesNothing) {
  Stream stream{EndSetup{}};
  expect_no_allocation(stream, [&] { reliable_round(stream, 13); });
  EXPECT_GT(stream.a.nic.counters().retransmitted_frames, 0U);
}

// The buffer for packets out of order is allocated with the first of them.
TEST(DataPath, WithSelectiveRepeatAllocatesNothing) {
  NicConfig config;
  config.selective_repeat.on = true;
  Stream stream{EndSetup{.config = config}};
  expect_no_allocation(stream, [&] { reliable_round(stream, 13); });
  EXPECT_GT(stream.a.nic.counters().retransmitted_frames, 0U);
  EXPECT_GT(stream.b.nic.counters().selective_naks_sent, 0U);
}

TEST(DataPath, WithCongestionControlAllocatesNothing) {
  NicConfig config;
  config.flow_control.algorithm = CcAlgorithm::kDcqcn;
  Stream stream{EndSetup{.config = config}};
  expect_no_allocation(stream, [&] {
    for (int i = 0; i < 4; ++i) post(stream, SendOp::kWrite, 5000);
    stream.run();
  });
}

TEST(DataPath, OfDatagramsAllocatesNothing) {
  Stream stream{EndSetup{.type = QpType::kUd}};
  const AhHandle ah = *stream.a.nic.create_ah(stream.a.pd, {.destination = stream.b.gid});
  expect_no_allocation(stream, [&] {
    for (int i = 0; i < 4; ++i) {
      receive(stream);
      post(stream, SendOp::kSend, 4000, {}, ah);
    }
    stream.run();
  });
}

}  // namespace
}  // namespace nerve::nic
