// Goal: a thread that sleeps in a poll is woken once when one of its CQs has a completion, and
// knows whether a post of another thread caused it.
#include "host/runtime/poll_waiters.h"

#include <gtest/gtest.h>

#include "nic/nic.h"

namespace nerve::host {
namespace {

constexpr Time kNow{std::chrono::seconds{1}};

struct SleepingPolls : ::testing::Test {
  SleepingPolls() {
    polls.note(nic, cq, lock, kNow);
    waiter.awake = 0;
    waiters.add(waiter);
  }

  void complete_on(nic::CqHandle queue) {
    const auto qp = nic.create_qp({.type = nic::QpType::kRc,
                                   .pd = pd,
                                   .send_cq = queue,
                                   .recv_cq = queue,
                                   .caps = {.max_recv_wr = 1, .max_recv_sge = 1}});
    ASSERT_TRUE(qp);
    ASSERT_TRUE(nic.modify_qp(*qp, nic::QpState::kErr, {}, {}));
    ASSERT_TRUE(nic.post_recv(*qp, {}));  // flushed
  }

  nic::Nic nic{nic::NicConfig{}};
  nic::PdHandle pd{*nic.alloc_pd()};
  nic::CqHandle cq{*nic.create_cq({.depth = 4})};
  nic::CqHandle other{*nic.create_cq({.depth = 4})};
  Lock lock;
  EmptyPolls polls;
  PollWaiters::Waiter waiter{.polls = polls};
  PollWaiters waiters;
};

TEST_F(SleepingPolls, StayAsleepWhileTheirCqsAreEmpty) {
  complete_on(other);
  EXPECT_EQ(waiters.take_ready().count, 0U);
  EXPECT_EQ(waiter.awake, 0U);
}

TEST_F(SleepingPolls, AreWokenByACompletion) {
  complete_on(cq);
  const PollWaiters::Woken woken = waiters.take_ready();
  ASSERT_EQ(woken.count, 1U);
  EXPECT_EQ(woken.sleepers[0], &waiter.awake);
  EXPECT_FALSE(woken.listener);
  EXPECT_EQ(waiter.woken_by_post, false);
  EXPECT_EQ(waiters.take_ready().count, 0U);  // it is awake
}

TEST_F(SleepingPolls, TheListenerIsWokenByTheDoorbell) {
  waiter.listens = true;
  complete_on(cq);
  const PollWaiters::Woken woken = waiters.take_ready(true);
  EXPECT_EQ(woken.count, 0U);
  EXPECT_TRUE(woken.listener);
  EXPECT_EQ(waiter.woken_by_post, true);
}

TEST_F(SleepingPolls, AThreadThatNeverPostsPollsForOthers) {
  EXPECT_FALSE(polls.only_polls());
  for (int i = 0; i < 4; ++i) polls.note_sleep();
  EXPECT_TRUE(polls.only_polls());
  EXPECT_TRUE(waiters.any_that_only_polls());
  polls.note_post();
  EXPECT_FALSE(waiters.any_that_only_polls());
}

}  // namespace
}  // namespace nerve::host
