// Goal: work leaves a queue in FIFO order, however often the ring wraps, and an idle QP is small.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "nic/qp_context/qp.h"
#include "nic/qp_context/receive_queue.h"
#include "nic/qp_context/send_queue.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

TEST(ReceiveQueue, TakesInOrderAcrossTheWrap) {
  ReceiveQueue queue{3, 2};
  std::uint64_t posted = 0;
  std::uint64_t taken = 0;
  for (int round = 0; round < 50; ++round) {
    while (!queue.full()) {
      const std::array<Sge, 2> list{Sge{posted, 10, LKey{1}}, Sge{posted + 1, 20, LKey{2}}};
      queue.post({.wr_id = posted++, .sges = list});
    }
    for (int i = 0; i < 1 + round % 3; ++i) {
      const std::uint32_t slot = queue.take();
      EXPECT_EQ(queue.at(slot).wr_id, taken);
      EXPECT_EQ(queue.at(slot).capacity, 30U);
      ASSERT_EQ(queue.sges_of(slot).size(), 2U);
      EXPECT_EQ(queue.sges_of(slot)[0].address, taken);
      EXPECT_EQ(queue.sges_of(slot)[1].address, taken + 1);
      queue.give_back(slot);
      ++taken;
    }
  }
}

// QPs that share the queue end their messages in any order.
TEST(ReceiveQueue, TakesSlotsBackInAnyOrder) {
  ReceiveQueue queue{4, 1};
  std::uint64_t posted = 0;
  while (!queue.full()) queue.post({.wr_id = posted++});
  const std::uint32_t first = queue.take();
  const std::uint32_t second = queue.take();
  const std::uint32_t third = queue.take();
  EXPECT_EQ(queue.taken(), 3U);
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_TRUE(queue.full()) << "a slot in use is not free";
  queue.give_back(second);
  EXPECT_FALSE(queue.full());
  queue.post({.wr_id = posted++});
  EXPECT_EQ(queue.at(first).wr_id, 0U) << "what is in use stays as it is";
  EXPECT_EQ(queue.at(third).wr_id, 2U);
  queue.give_back(third);
  queue.give_back(first);
  queue.post({.wr_id = posted++});
  queue.post({.wr_id = posted++});
  for (std::uint64_t expected = 3; expected < posted; ++expected) {
    EXPECT_EQ(queue.at(queue.take()).wr_id, expected);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(ReceiveQueue, RefusesWhatDoesNotFit) {
  ReceiveQueue queue{1, 1};
  const std::array<Sge, 2> two{};
  EXPECT_EQ(test::said(queue.check({.sges = two})),
            "invalid: post receive: too many scatter/gather entries");
  queue.post({});
  EXPECT_EQ(test::said(queue.check({})), "queue full: post receive: queue full");
  queue.clear();
  EXPECT_EQ(test::said(queue.check({})), "done");
  EXPECT_EQ(test::said(ReceiveQueue{}.check({})), "queue full: post receive: queue full");
}

TEST(ReceiveQueue, CountsACapacityBeyond32Bits) {
  ReceiveQueue queue{1, 2};
  const std::array<Sge, 2> list{Sge{0, ~0U, {}}, Sge{0, ~0U, {}}};
  queue.post({.sges = list});
  EXPECT_EQ(queue.at(queue.take()).capacity, 2 * std::uint64_t{~0U});
}

TEST(SendQueue, HoldsItsDepthAndKeepsOrderAcrossTheWrap) {
  SendQueue queue{{.max_send_wr = 3, .max_send_sge = 2, .max_inline = 4}};
  queue.head = queue.cursor = queue.tail = 0xffff'fffe;  // the counters run freely
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  for (int round = 0; round < 50; ++round) {
    while (!queue.full()) {
      queue.at(queue.tail).wr_id = posted;
      queue.at(queue.tail).sge_count = 2;
      queue.list_at(queue.tail)[1].address = posted;
      queue.inline_at(queue.tail)[3] = static_cast<std::byte>(posted);
      ++queue.tail;
      ++posted;
    }
    EXPECT_EQ(posted - done, 3U) << "the depth asked for, not the ring's power of two";
    for (int i = 0; i < 1 + round % 3; ++i) {
      EXPECT_EQ(queue.oldest().wr_id, done);
      EXPECT_EQ(queue.list_at(queue.head)[1].address, done);
      EXPECT_EQ(queue.inline_at(queue.head)[3], static_cast<std::byte>(done));
      ++queue.head;
      ++done;
    }
  }
}

TEST(SendQueue, OfDepthZeroIsFullAndEmpty) {
  SendQueue queue{{.max_send_wr = 0, .max_send_sge = 0}};
  EXPECT_TRUE(queue.full());
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.all_sent());
}

TEST(IdleQp, CostsLessThanAKilobyte) {
  const std::size_t queues =
      sizeof(SendWqe) + sizeof(Receive) + sizeof(Sge) + 2 * sizeof(std::uint32_t);
  EXPECT_LT(sizeof(Qp) + queues, 1024U) << sizeof(Qp) << " and " << queues << " for its queues";
}

}  // namespace
}  // namespace nerve::nic
