// Goal: the all-reduces that add in the order of ranks give the same bits as a loop that does so,
// on every rank; sizes that differ are an error; a rank that waits for long needs little CPU time.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

#include "ai/machine.h"
#include "tests/ai/ranks.h"

namespace ai_test {
namespace {

using nerve::ai::Algorithm;
using nerve::ai::DataType;
using nerve::ai::Error;
using nerve::ai::Machine;
using nerve::ai::more_ranks_than_cpus;
using nerve::ai::ReduceOp;
using nerve::ai::Status;

// Of very different sizes: any other order of additions gives another sum.
float float_of(int rank, std::size_t at) {
  static constexpr float kScales[] = {1e8F, 1.0F, 1e-4F, -1e8F, 3e3F};
  const auto mixed = static_cast<std::size_t>(rank) * 2654435761U + at * 40503U;
  return kScales[mixed % 5] * (1.0F + static_cast<float>(mixed % 1009) / 1009.0F);
}

std::string compare_bits(Group& group, Algorithm algorithm, std::size_t count) {
  std::vector<float> data(count);
  std::vector<float> wanted(count);
  for (std::size_t at = 0; at < count; ++at) {
    data[at] = float_of(group.rank(), at);
    wanted[at] = float_of(0, at);
    for (int rank = 1; rank < group.size(); ++rank) wanted[at] += float_of(rank, at);
  }
  Status done = group.all_reduce(data.data(), count, DataType::kFloat32, ReduceOp::kSum, algorithm);
  if (!done) return done.error().text;
  if (std::memcmp(data.data(), wanted.data(), count * sizeof(float)) == 0) return "";
  return std::string{name_of(algorithm)} + " of " + std::to_string(count) + " has other bits";
}

class AllReduce : public ::testing::TestWithParam<std::string> {};

TEST_P(AllReduce, AddsInTheOrderOfRanks) {
  const auto results = run_ranks({.ranks = 5, .transport = GetParam()}, [](Group& group) {
    for (const Algorithm algorithm : {Algorithm::kAuto, Algorithm::kExchange, Algorithm::kStar,
                                      Algorithm::kMesh, Algorithm::kPull}) {
      for (const std::size_t count : {1U, 4U, 5U, 3000U, 100'003U, 700'001U}) {
        std::string complaint = compare_bits(group, algorithm, count);
        if (!complaint.empty()) return complaint;
      }
    }
    return std::string{};
  });
  EXPECT_EQ(complaints(results), "");
}

// A rank may change its data as soon as the call returns, while others are still in it.
TEST_P(AllReduce, RepeatedInTheSameMemory) {
  const auto results = run_ranks({.ranks = 3, .transport = GetParam()}, [](Group& group) {
    std::vector<std::int32_t> data(90'000);
    for (int call = 1; call <= 50; ++call) {
      for (std::size_t at = 0; at < data.size(); ++at) {
        data[at] = call * (group.rank() + 1) + static_cast<std::int32_t>(at);
      }
      Status done = group.all_reduce(data.data(), data.size(), DataType::kInt32, ReduceOp::kSum,
                                     Algorithm::kPull);
      if (!done) return done.error().text;
      for (std::size_t at = 0; at < data.size(); ++at) {
        if (data[at] != call * 6 + 3 * static_cast<std::int32_t>(at)) {
          return "call " + std::to_string(call) + ", element " + std::to_string(at);
        }
      }
    }
    return std::string{};
  });
  EXPECT_EQ(complaints(results), "");
}

TEST_P(AllReduce, OfDifferentSizesIsAnError) {
  const auto results = run_ranks({.ranks = 2, .transport = GetParam()}, [](Group& group) {
    std::vector<float> data(group.rank() == 0 ? 50'000 : 60'000);
    const Status done = group.all_reduce(data.data(), data.size(), DataType::kFloat32,
                                         ReduceOp::kSum, Algorithm::kPull);
    if (done) return std::string{"no error"};
    if (done.error().kind != Error::Kind::kProtocol) return done.error().text;
    return done.error().rank == 1 - group.rank() ? "" : "another rank: " + done.error().text;
  });
  EXPECT_EQ(complaints(results), "");
}

TEST_P(AllReduce, WaitingForASlowRankNeedsLittleCpuTime) {
  const auto results = run_ranks({.ranks = 3, .transport = GetParam()}, [](Group& group) {
    float value = 1;
    if (group.rank() == 0) ::usleep(1'000'000);
    Status done = group.all_reduce(&value, 1, DataType::kFloat32, ReduceOp::kSum);
    if (!done) return done.error().text;
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto ms = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                    (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
    return ms < 500 ? std::string{} : std::to_string(ms) + " ms";
  });
  EXPECT_EQ(complaints(results), "");
}

INSTANTIATE_TEST_SUITE_P(All, AllReduce, ::testing::Values("rdma", "tcp"));

TEST(Machine, WithMoreRanksThanCpusIsFound) {
  const Machine two{.id = "a", .cpus = 2};
  const Machine one{.id = "b", .cpus = 1};
  EXPECT_FALSE(more_ranks_than_cpus({two, two, one}));
  EXPECT_TRUE(more_ranks_than_cpus({two, two, one, two}));
  EXPECT_TRUE(more_ranks_than_cpus({one, two, one}));
}

TEST(Machine, IsReadFromItsText) {
  const Machine here = Machine::here();
  EXPECT_FALSE(here.id.empty());
  EXPECT_GE(here.cpus, 1);
  const auto read = Machine::read(here.as_text(), 1);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, here.id);
  EXPECT_EQ(read->cpus, here.cpus);
}

TEST(Machine, InvalidTextNamesTheRank) {
  const std::string text = Machine::here().as_text();
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto read = Machine::read(text.substr(0, length), 3);
    ASSERT_FALSE(read) << length;
    EXPECT_EQ(read.error().rank, 3);
  }
}

}  // namespace
}  // namespace ai_test
