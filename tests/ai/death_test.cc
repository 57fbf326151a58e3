// Goal: when a rank is killed, every wait of every other rank ends soon with an error that names
// it.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/ai/ranks.h"

namespace ai_test {
namespace {

using nerve::ai::DataType;
using nerve::ai::Error;
using nerve::ai::ReduceOp;
using nerve::ai::Status;

constexpr int kVictim = 2;

// What a rank saw: "died 2", or what else ended the call.
std::string verdict(const Status& status) {
  if (status) return "no error";
  const bool died = status.error().kind == Error::Kind::kPeerDied;
  return (died ? "died " : "other: " + status.error().text + " ") +
         std::to_string(status.error().rank);
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

std::string leave_early(Group& group) {
  if (group.rank() == kVictim) return "";
  const Status done = group.barrier();
  if (done) return "no error";
  return done.error().rank == kVictim ? "" : done.error().text;
}

class Death : public ::testing::TestWithParam<std::string> {
 protected:
  void expect_named(const Work& work) {
    const auto results = run_ranks({.ranks = 4, .transport = GetParam()}, work);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(results[static_cast<std::size_t>(rank)], rank == kVictim ? "killed" : "died 2")
          << "rank " << rank;
    }
  }
};

TEST_P(Death, InACollectiveIsNamedByAllRanks) { expect_named(reduce_until_it_fails); }
TEST_P(Death, EndsTheWaitForAnotherRank) { expect_named(wait_for_another); }

TEST_P(Death, LeavingEarlyIsNamedAsWell) {
  EXPECT_EQ(complaints(run_ranks({.ranks = 3, .transport = GetParam()}, leave_early)), "");
}

INSTANTIATE_TEST_SUITE_P(All, Death, ::testing::Values("rdma", "tcp"));

}  // namespace
}  // namespace ai_test
