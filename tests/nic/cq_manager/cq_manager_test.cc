#include "nic/cq_manager/cq_manager.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <vector>

namespace nerve::nic {
namespace {

using std::chrono::microseconds;

Completion completion(std::uint64_t id, std::uint32_t qpn = 0x11) {
  return {.wr_id = id, .qpn = Qpn{qpn}};
}

class CqManagerTest : public ::testing::Test {
 protected:
  CqHandle make(std::uint32_t depth, bool ignore_overrun = false) {
    const auto cq = cqs_.create({.depth = depth, .cookie = 7, .ignore_overrun = ignore_overrun});
    EXPECT_TRUE(cq);
    cqs_.find(*cq)->home = &cqs_;  // as its first QP would
    return *cq;
  }
  bool push(CqHandle cq, std::uint64_t id, bool solicited = false, Time now = {}) {
    return cqs_.push(*cqs_.find(cq), completion(id), solicited, now);
  }
  std::vector<std::uint64_t> poll(CqHandle cq, std::size_t most = 100) {
    std::vector<Completion> out(most);
    const auto count = cqs_.poll(cq, out);
    EXPECT_TRUE(count);
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < *count; ++i) ids.push_back(out[i].wr_id);
    return ids;
  }
  std::vector<EventKind> events() {
    std::vector<EventKind> kinds;
    while (const auto event = events_.pop()) {
      EXPECT_EQ(event->cookie, 7u);
      kinds.push_back(event->kind);
    }
    return kinds;
  }

  Limits limits_{.max_cq = 3, .max_cqe = 64};
  EventQueue events_;
  SlotTable<Cq> table_{limits_.max_cq};
  CqManager cqs_{limits_, events_, table_};
};

using Ids = std::vector<std::uint64_t>;
using Kinds = std::vector<EventKind>;

}  // namespace

TEST_F(CqManagerTest, RefusesDepthsBeyondItsLimits) {
  EXPECT_EQ(cqs_.create({.depth = 0}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(cqs_.create({.depth = 65}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(cqs_.create({.depth = 65}).error().limit, 64u);
  for (int i = 0; i < 3; ++i) make(64);
  EXPECT_EQ(cqs_.create({.depth = 1}).error().code, ErrorCode::kLimit);
}

TEST_F(CqManagerTest, FindsNothingForAStaleHandle) {
  const CqHandle cq = make(4);
  ASSERT_TRUE(cqs_.destroy(cq));
  std::array<Completion, 1> out;
  EXPECT_EQ(cqs_.poll(cq, out).error().code, ErrorCode::kNoSuchObject);
  EXPECT_EQ(cqs_.arm(cq, false).error().code, ErrorCode::kNoSuchObject);
  EXPECT_EQ(cqs_.resize(cq, 1).error().code, ErrorCode::kNoSuchObject);
  EXPECT_EQ(cqs_.moderate(cq, 1, {}).error().code, ErrorCode::kNoSuchObject);
  EXPECT_EQ(cqs_.destroy(cq).error().code, ErrorCode::kNoSuchObject);
  EXPECT_EQ(cqs_.find(cq), nullptr);
}

TEST_F(CqManagerTest, IsBusyWhileUsed) {
  const CqHandle cq = make(4);
  cqs_.find(cq)->users = 2;
  EXPECT_EQ(cqs_.destroy(cq).error().code, ErrorCode::kBusy);
  cqs_.find(cq)->users = 0;
  EXPECT_TRUE(cqs_.destroy(cq));
}

TEST_F(CqManagerTest, TakesItsTimerAndEventsWithIt) {
  const CqHandle cq = make(4);
  ASSERT_TRUE(cqs_.arm(cq, false));
  push(cq, 1);
  ASSERT_TRUE(cqs_.moderate(cq, 5, microseconds{10}));
  ASSERT_TRUE(cqs_.arm(cq, false));
  push(cq, 2);
  ASSERT_TRUE(cqs_.next_deadline());
  ASSERT_TRUE(cqs_.destroy(cq));
  EXPECT_FALSE(cqs_.next_deadline());
  EXPECT_EQ(events(), Kinds{});
}

TEST_F(CqManagerTest, PollsInOrderAcrossTheEndOfTheRing) {
  const CqHandle cq = make(3);
  std::uint64_t pushed = 0, polled = 0;
  for (int round = 0; round < 10; ++round) {
    while (push(cq, pushed) && ++pushed - polled < 3) {
    }
    for (const std::uint64_t id : poll(cq, 2)) EXPECT_EQ(id, polled++);
  }
  EXPECT_EQ(poll(cq, 0), Ids{});
  EXPECT_EQ(poll(cq).size(), 1u);
  EXPECT_EQ(poll(cq), Ids{});
}

// The whole depth can be used, even if it is not a power of two. The next push marks the queue
// overrun permanently, raises one event, and keeps the waiting completions.
TEST_F(CqManagerTest, RaisesOneEventOnOverrun) {
  const CqHandle cq = make(3);
  for (std::uint64_t id = 0; id < 3; ++id) EXPECT_TRUE(push(cq, id));
  EXPECT_EQ(events(), Kinds{});
  EXPECT_FALSE(push(cq, 3));
  EXPECT_FALSE(push(cq, 4));
  EXPECT_TRUE(cqs_.find(cq)->overrun);
  EXPECT_EQ(events(), Kinds{EventKind::kCqError});
  EXPECT_EQ(poll(cq), (Ids{0, 1, 2}));
  EXPECT_FALSE(push(cq, 5)) << "a gap must not be followed by completions";
  EXPECT_EQ(events(), Kinds{});
}

TEST_F(CqManagerTest, ReleasesAModeratedEventOnOverrun) {
  const CqHandle cq = make(2);
  ASSERT_TRUE(cqs_.moderate(cq, 10, {}));
  ASSERT_TRUE(cqs_.arm(cq, false));
  for (std::uint64_t id = 0; id < 3; ++id) push(cq, id);
  EXPECT_EQ(events(), (Kinds{EventKind::kCqError, EventKind::kCompletion}));
}

TEST_F(CqManagerTest, OverwritesTheOldestWhereAskedTo) {
  const CqHandle cq = make(3, /*ignore_overrun=*/true);
  for (std::uint64_t id = 0; id < 8; ++id) EXPECT_TRUE(push(cq, id));
  EXPECT_EQ(poll(cq), (Ids{5, 6, 7}));
  EXPECT_EQ(events(), Kinds{});
}

TEST_F(CqManagerTest, KeepsWhatWaitsThroughAResize) {
  const CqHandle cq = make(4);
  for (std::uint64_t id = 0; id < 4; ++id) push(cq, id);
  EXPECT_EQ(poll(cq, 3), (Ids{0, 1, 2}));
  for (std::uint64_t id = 4; id < 7; ++id) push(cq, id);  // wraps
  ASSERT_TRUE(cqs_.resize(cq, 64));
  for (std::uint64_t id = 7; id < 9; ++id) EXPECT_TRUE(push(cq, id));

  const Status refused = cqs_.resize(cq, 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().limit, 6u);
  EXPECT_EQ(cqs_.resize(cq, 0).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(cqs_.resize(cq, 65).error().code, ErrorCode::kInvalid);

  ASSERT_TRUE(cqs_.resize(cq, 6));
  EXPECT_EQ(cqs_.find(cq)->depth, 6u);
  EXPECT_FALSE(push(cq, 9)) << "six wait in a queue of six";
  EXPECT_EQ(poll(cq), (Ids{3, 4, 5, 6, 7, 8}));
}

TEST_F(CqManagerTest, AnswersAnArmingOnceAndNotForThePast) {
  const CqHandle cq = make(8);
  push(cq, 0);
  ASSERT_TRUE(cqs_.arm(cq, false));
  EXPECT_EQ(events(), Kinds{}) << "what came before the arming does not count";
  push(cq, 1);
  push(cq, 2);
  EXPECT_EQ(events(), Kinds{EventKind::kCompletion});
}

TEST_F(CqManagerTest, WaitsForASolicitedCompletionOrAnError) {
  const CqHandle cq = make(8);
  ASSERT_TRUE(cqs_.arm(cq, /*solicited_only=*/true));
  push(cq, 0);
  EXPECT_EQ(events(), Kinds{});
  push(cq, 1, /*solicited=*/true);
  EXPECT_EQ(events(), Kinds{EventKind::kCompletion});

  ASSERT_TRUE(cqs_.arm(cq, true));
  Completion failed = completion(2);
  failed.status = WcStatus::kFlushed;
  cqs_.push(*cqs_.find(cq), failed, false, Time{});
  EXPECT_EQ(events(), Kinds{EventKind::kCompletion});
}

TEST_F(CqManagerTest, LetsTheWiderArmingWin) {
  const CqHandle cq = make(8);
  for (const bool solicited_first : {true, false}) {
    ASSERT_TRUE(cqs_.arm(cq, solicited_first));
    ASSERT_TRUE(cqs_.arm(cq, !solicited_first));
    push(cq, 0);
    EXPECT_EQ(events(), Kinds{EventKind::kCompletion});
  }
}

TEST_F(CqManagerTest, HoldsAnEventUntilTheCount) {
  const CqHandle cq = make(8);
  ASSERT_TRUE(cqs_.moderate(cq, 3, {}));
  ASSERT_TRUE(cqs_.arm(cq, false));
  push(cq, 0);
  EXPECT_EQ(poll(cq), Ids{0});
  push(cq, 1);
  EXPECT_EQ(events(), Kinds{});
  EXPECT_FALSE(cqs_.next_deadline()) << "no period, no timer";
  push(cq, 2);
  EXPECT_EQ(events(), Kinds{EventKind::kCompletion});
}

TEST_F(CqManagerTest, HoldsAnEventUntilThePeriodEnds) {
  const CqHandle cq = make(8);
  const Time start{microseconds{100}};
  ASSERT_TRUE(cqs_.moderate(cq, 100, microseconds{10}));
  ASSERT_TRUE(cqs_.arm(cq, false));
  EXPECT_FALSE(cqs_.next_deadline());
  push(cq, 0, false, start);
  push(cq, 1, false, start + microseconds{5});
  EXPECT_EQ(poll(cq), (Ids{0, 1})) << "polling does not cancel the event";
  EXPECT_EQ(cqs_.next_deadline(), start + microseconds{10}) << "from the first, not the last";
  cqs_.expire(start + microseconds{9});
  EXPECT_EQ(events(), Kinds{});
  cqs_.expire(start + microseconds{10});
  EXPECT_EQ(events(), Kinds{EventKind::kCompletion});
  EXPECT_FALSE(cqs_.next_deadline());
  push(cq, 2, false, start + microseconds{11});
  EXPECT_FALSE(cqs_.next_deadline()) << "not armed";
}

TEST_F(CqManagerTest, ReleasesAHeldEventWhenModerationEnds) {
  const CqHandle cq = make(8);
  ASSERT_TRUE(cqs_.moderate(cq, 4, microseconds{10}));
  ASSERT_TRUE(cqs_.arm(cq, false));
  push(cq, 0);
  ASSERT_TRUE(cqs_.moderate(cq, 3, microseconds{10}));
  EXPECT_EQ(events(), Kinds{});
  ASSERT_TRUE(cqs_.moderate(cq, 0, {}));
  EXPECT_EQ(events(), Kinds{EventKind::kCompletion});
  EXPECT_FALSE(cqs_.next_deadline());
  EXPECT_EQ(cqs_.moderate(cq, 2, Duration{-1}).error().code, ErrorCode::kInvalid);
}

TEST_F(CqManagerTest, ForgetsADestroyedQpAndKeepsTheOrderOfOthers) {
  const CqHandle cq = make(4);
  for (std::uint64_t id = 0; id < 3; ++id) push(cq, id);
  poll(cq);  // so that the ring wraps
  for (std::uint64_t id = 10; id < 14; ++id)
    cqs_.push(*cqs_.find(cq), completion(id, id % 2 == 0 ? 0x20 : 0x21), false, Time{});
  EXPECT_TRUE(CqManager::holds(*cqs_.find(cq), Qpn{0x20}));
  cqs_.forget(*cqs_.find(cq), Qpn{0x20});
  EXPECT_FALSE(CqManager::holds(*cqs_.find(cq), Qpn{0x20}));
  EXPECT_TRUE(CqManager::holds(*cqs_.find(cq), Qpn{0x21}));
  EXPECT_TRUE(push(cq, 14));
  EXPECT_EQ(poll(cq), (Ids{11, 13, 14}));
}

TEST(EventQueue, KeepsOrderAndForgetsTheDead) {
  EventQueue queue;
  for (std::uint32_t i = 1; i <= 300; ++i) {
    queue.push({.kind = EventKind::kCompletion, .cookie = i, .cq = {i % 3, 1}});
    if (i % 2 == 0) {
      EXPECT_EQ(queue.pop()->cookie, i / 2);
    }
  }
  queue.forget(CqHandle{0, 1});
  queue.forget(QpHandle{});  // a null handle matches nothing
  for (std::uint32_t i = 151; i <= 300; ++i) {
    if (i % 3 == 0) continue;
    const auto event = queue.pop();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->cookie, i);
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.pop());
}

}  // namespace nerve::nic
