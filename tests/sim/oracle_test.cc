// Goal: incasts behave as in the ns-3 simulation of HPCC's authors, within the tolerances of
// docs/fidelity.md. Method: nine seeds. Random marking makes the figures of both simulators vary;
// those of 2:1 DCQCN have two typical values. So the figure of ns-3 must lie within the range of
// ours, and our median between figures of ns-3, both ranges widened by the tolerance.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/incast_oracle.h"

namespace nerve::sim {
namespace {

constexpr std::uint64_t kSeeds = 9;
using Figure = double test::IncastFigures::*;

const test::Incast& named(const std::string& name) {
  for (const test::Incast& incast : test::incasts()) {
    if (incast.name == name) return incast;
  }
  ADD_FAILURE() << "no incast " << name;
  return test::incasts().front();
}

void expect_theirs_among(const std::vector<test::IncastFigures>& ours, Figure figure, double theirs,
                         double tolerance) {
  const auto [least, most] = std::ranges::minmax(ours, {}, figure);
  EXPECT_GE(theirs, least.*figure * (1 - tolerance));
  EXPECT_LE(theirs, most.*figure * (1 + tolerance));
}

void expect_among_theirs(const test::Incast& incast, const test::IncastFigures& ours, Figure figure,
                         double tolerance) {
  const auto [least, most] = std::minmax(incast.expected.*figure, incast.usual().*figure);
  EXPECT_GE(ours.*figure, least * (1 - tolerance));
  EXPECT_LE(ours.*figure, most * (1 + tolerance));
}

}  // namespace

class Oracle : public testing::TestWithParam<std::string> {};

// Completion and the longest queue within a tenth, fairness within 0.02, pauses in the same runs.
// Which of 64 flows is first, and when, is random: over eight runs of ns-3 it takes 5.3 to 10.2 ms.
TEST_P(Oracle, MatchesNs3) {
  using Figures = test::IncastFigures;
  const test::Incast& incast = named(GetParam());
  const std::vector<Figures> runs = test::run_incasts(incast, kSeeds);
  const Figures ours = test::median_of(runs);
  const Figures& theirs = incast.usual();
  {
    SCOPED_TRACE("the first flow");
    const double tolerance = incast.name == "64:1 DCQCN" ? 0.30 : 0.10;
    expect_theirs_among(runs, &Figures::first, theirs.first, tolerance);
    expect_among_theirs(incast, ours, &Figures::first, tolerance);
  }
  {
    SCOPED_TRACE("the last flow");
    expect_theirs_among(runs, &Figures::last, theirs.last, 0.10);
    expect_among_theirs(incast, ours, &Figures::last, 0.10);
  }
  EXPECT_EQ(ours.pauses > 0, theirs.pauses > 0);
  EXPECT_NEAR(ours.jain, theirs.jain, 0.02);
  {
    SCOPED_TRACE("the longest queue");
    expect_theirs_among(runs, &Figures::queue_most, theirs.queue_most, 0.10);
  }
  if (incast.algorithm == nic::CcAlgorithm::kHpcc) return;  // queues of a few packets
  SCOPED_TRACE("the median queue");
  expect_theirs_among(runs, &Figures::queue_median, incast.expected.queue_median, 0.25);
}

INSTANTIATE_TEST_SUITE_P(Incasts, Oracle,
                         testing::Values("2:1 DCQCN", "2:1 HPCC", "16:1 DCQCN", "16:1 HPCC",
                                         "16:1 TIMELY", "64:1 DCQCN", "64:1 HPCC"),
                         [](const auto& which) {
                           std::string name = which.param;
                           for (char& c : name) {
                             if (c == ':') c = '_';
                             if (c == ' ') c = '_';
                           }
                           return name;
                         });

}  // namespace nerve::sim
