// Goal: every collective gives the result of a plain reference, for 1 to 8 ranks, sizes from 0 to
// several slots, both transports and several lanes.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/ai/ranks.h"

namespace ai_test {
namespace {

using nerve::ai::Algorithm;
using nerve::ai::DataType;
using nerve::ai::ReduceOp;
using nerve::ai::Status;
using Values = std::vector<std::int32_t>;

// Differs for every rank, place and call.
std::int32_t value_of(int rank, std::size_t at, std::size_t call) {
  return static_cast<std::int32_t>(
      (static_cast<std::size_t>(rank + 1) * 7919 + at * 31 + call * 104729) % 1000003);
}

Values values_of(int rank, std::size_t count, std::size_t call) {
  Values values(count);
  for (std::size_t at = 0; at < count; ++at) values[at] = value_of(rank, at, call);
  return values;
}

Values sum_of(int ranks, std::size_t count, std::size_t call) {
  Values sum(count);
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::size_t at = 0; at < count; ++at) sum[at] += value_of(rank, at, call);
  }
  return sum;
}

// The first difference, as text.
std::string difference(const char* what, std::size_t count, const Values& got,
                       const Values& wanted) {
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    if (got[at] == wanted[at]) continue;
    return std::string{what} + " of " + std::to_string(count) + ": element " + std::to_string(at) +
           " is " + std::to_string(got[at]) + " and should be " + std::to_string(wanted[at]);
  }
  return "";
}

// All collectives with `count` elements, each result compared.
class Round {
 public:
  Round(Group& group, std::size_t count, std::size_t call)
      : group_{group}, count_{count}, call_{call}, ranks_{static_cast<std::size_t>(group.size())} {}

  std::string run() {
    for (const Algorithm algorithm :
         {Algorithm::kAuto, Algorithm::kExchange, Algorithm::kStar, Algorithm::kMesh,
          Algorithm::kPull, Algorithm::kRing, Algorithm::kTree}) {
      Values data = mine(count_);
      Status done =
          group_.all_reduce(data.data(), count_, DataType::kInt32, ReduceOp::kSum, algorithm);
      check(std::string{name_of(algorithm)}.c_str(), done, data,
            sum_of(group_.size(), count_, call_));
    }
    scatter_and_gather();
    broadcast_from_all();
    exchange_all();
    if (Status done = group_.barrier(); !done) complain("barrier: " + done.error().text);
    return complaint_;
  }

 private:
  [[nodiscard]] Values mine(std::size_t count) const {
    return values_of(group_.rank(), count, call_);
  }
  void complain(const std::string& text) {
    if (complaint_.empty()) complaint_ = text;
  }
  void check(const char* what, const Status& done, const Values& got, const Values& wanted) {
    complain(done ? difference(what, count_, got, wanted) : what + (": " + done.error().text));
  }
  void scatter_and_gather() {
    const std::size_t own = count_ * static_cast<std::size_t>(group_.rank());
    const Values in = mine(count_ * ranks_);
    Values out(count_);
    Status done =
        group_.reduce_scatter(in.data(), out.data(), count_, DataType::kInt32, ReduceOp::kSum);
    const Values sum = sum_of(group_.size(), count_ * ranks_, call_);
    const auto begin = sum.begin() + static_cast<std::ptrdiff_t>(own);
    check("reduce_scatter", done, out, {begin, begin + static_cast<std::ptrdiff_t>(count_)});

    Values all(count_ * ranks_);
    done = group_.all_gather(in.data(), all.data(), count_ * sizeof(std::int32_t));
    Values wanted;
    for (int rank = 0; rank < group_.size(); ++rank) {
      const Values one = values_of(rank, count_, call_);
      wanted.insert(wanted.end(), one.begin(), one.end());
    }
    check("all_gather", done, all, wanted);
  }
  void broadcast_from_all() {
    for (int root = 0; root < group_.size(); ++root) {
      Values data = mine(count_);
      Status done = group_.broadcast(data.data(), count_ * sizeof(std::int32_t), root);
      check("broadcast", done, data, values_of(root, count_, call_));
    }
  }
  void exchange_all() {
    const Values in = mine(count_ * ranks_);
    Values out(count_ * ranks_);
    Status done = group_.all_to_all(in.data(), out.data(), count_ * sizeof(std::int32_t));
    Values wanted;
    for (int rank = 0; rank < group_.size(); ++rank) {
      const Values theirs = values_of(rank, count_ * ranks_, call_);
      const auto begin = theirs.begin() + static_cast<std::ptrdiff_t>(count_) * group_.rank();
      wanted.insert(wanted.end(), begin, begin + static_cast<std::ptrdiff_t>(count_));
    }
    check("all_to_all", done, out, wanted);
  }

  Group& group_;
  std::size_t count_;
  std::size_t call_;
  std::size_t ranks_;
  std::string complaint_;
};

class Collectives : public ::testing::TestWithParam<Setup> {};

TEST_P(Collectives, GiveTheResultOfAReference) {
  const auto results = run_ranks(GetParam(), [](Group& group) {
    std::size_t call = 0;
    // Around the limits of the algorithms: inline data, copies, slots, pieces.
    for (const std::size_t count : {0U, 1U, 3U, 16U, 17U, 1000U, 4096U, 4097U, 33'000U, 300'001U}) {
      const std::string complaint = Round{group, count, ++call}.run();
      if (!complaint.empty()) return complaint;
    }
    // Many short calls use up slots, credits and copies.
    for (int again = 0; again < 20; ++again) {
      const std::string complaint = Round{group, 100, ++call}.run();
      if (!complaint.empty()) return complaint;
    }
    return std::string{};
  });
  EXPECT_EQ(complaints(results), "");
}

INSTANTIATE_TEST_SUITE_P(
    All, Collectives,
    ::testing::Values(Setup{.ranks = 1}, Setup{.ranks = 2}, Setup{.ranks = 3}, Setup{.ranks = 8},
                      Setup{.ranks = 2, .qps_per_peer = 3}, Setup{.ranks = 2, .transport = "tcp"},
                      Setup{.ranks = 4, .transport = "tcp"},
                      Setup{.ranks = 3, .transport = "tcp", .qps_per_peer = 2}),
    [](const auto& info) {
      return info.param.transport + std::to_string(info.param.ranks) + "Ranks" +
             std::to_string(info.param.qps_per_peer) + "Lanes";
    });

}  // namespace
}  // namespace ai_test
