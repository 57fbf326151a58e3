// Goal: when a rank is killed, every wait of every other rank ends soon with an error that names
// it; when it is stopped, after the timeout.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/ai/ranks.h"

namespace ai_test {
namespace {

using nerve::ai::DataType;
using nerve::ai::Error;
using nerve::ai::ReduceOp;
using nerve::ai::Status;

constexpr int kVictim = 2;

// What a rank saw: "died 2", "silent 2", or what else ended the call.
std::string verdict(const Status& status) {
  if (status) return "no error";
  std::string kind = "other: " + status.error().text + " ";
  if (status.error().kind == Error::Kind::kPeerDied) kind = "died ";
  if (status.error().kind == Error::Kind::kTimeout) kind = "silent ";
  return kind + std::to_string(status.error().rank);
}

std::string reduce_until_it_fails(Group& group) {
  std::vector<float> data(50'000);
  for (int call = 0; call < 100'000; ++call) {
    if (call == 20 && group.rank() == kVictim) ::kill(::getpid(), SIGKILL);
    Status done = group.all_reduce(data.data(), data.size(), DataType::kFloat32, ReduceOp::kMax);
    if (!done) return verdict(done);
  }
  return "no error";
}

// Ranks that wait for a notification of a living rank learn of the death as well.
std::string wait_for_another(Group& group) {
  if (group.rank() == kVictim) ::kill(::getpid(), SIGKILL);
  return verdict(group.wait_notify(group.rank() == 0 ? 1 : 0, 5));
}

// In a chain: only the first rank waits for the stopped one. The others end it, so that the test
// ends.
template <class Call>
std::string stop_victim(Group& group, Call call) {
  std::int64_t pid = group.rank() == kVictim ? ::getpid() : 0;
  Status done = group.all_reduce(&pid, 1, DataType::kInt64, ReduceOp::kMax);
  if (!done) return verdict(done);
  if (group.rank() == kVictim) ::kill(::getpid(), SIGSTOP);
  done = call();
  std::string result = verdict(done);
  // The others notice it within the same moment. To them, it must not have died before.
  std::this_thread::sleep_for(std::chrono::seconds{2});
  ::kill(static_cast<pid_t>(pid), SIGKILL);
  return result;
}

std::string reduce_with_a_stopped_rank(Group& group) {
  return stop_victim(group, [&] {
    std::vector<float> data(50'000);
    Status done = nerve::ai::Done{};
    for (int call = 0; done && call < 100'000; ++call) {
      done = group.all_reduce(data.data(), data.size(), DataType::kFloat32, ReduceOp::kMax);
    }
    return done;
  });
}

std::string wait_in_a_chain(Group& group) {
  return stop_victim(group, [&] {
    char byte = 0;
    const int next = (group.rank() + 3) % 4;  // 0 waits for 3, 3 for 2
    return group.receive(&byte, 1, next);
  });
}

std::string leave_early(Group& group) {
  if (group.rank() == kVictim) return "";
  const Status done = group.barrier();
  if (done) return "no error";
  const bool named = done.error().rank == kVictim && done.error().text.find("left the group") < 10;
  return named ? "" : done.error().text;
}

class Death : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_named(const Work& work, const std::string& verdict = "died 2",
                    std::chrono::milliseconds timeout = std::chrono::seconds{60}) {
    const auto results = run_ranks({.ranks = 4, .transport = GetParam(), .timeout = timeout}, work);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(results[static_cast<std::size_t>(rank)], rank == kVictim ? "killed" : verdict)
          << "rank " << rank;
    }
  }
};

TEST_P(Death, InACollectiveIsNamedByAllRanks) { expect_named(reduce_until_it_fails); }
TEST_P(Death, EndsTheWaitForAnotherRank) { expect_named(wait_for_another); }

TEST_P(Death, AStoppedRankIsNamedByAllRanks) {
  expect_named(reduce_with_a_stopped_rank, "silent 2", std::chrono::seconds{3});
}
TEST_P(Death, AStoppedRankIsNamedByRanksThatWaitForAnother) {
  expect_named(wait_in_a_chain, "silent 2", std::chrono::seconds{3});
}

TEST_P(Death, LeavingEarlyIsNamedAsWell) {
  EXPECT_EQ(complaints(run_ranks({.ranks = 3, .transport = GetParam()}, leave_early)), "");
}

INSTANTIATE_TEST_SUITE_P(All, Death, ::testing::Values("rdma", "tcp"));

}  // namespace
}  // namespace ai_test
