// Goal: the plan measures what its names say, and programs are called with the right options.
// Method: the plan itself; no program is started.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/live/measure.h"
#include "bench/live/plan.h"

namespace nerve::bench {
namespace {

using Words = std::vector<std::string>;

Figure figure_named(const Plan& plan, const std::string& name) {
  const auto at = std::ranges::find(plan.figures, name, &Figure::name);
  return at != plan.figures.end() ? *at : Figure{};
}

}  // namespace

TEST(LivePlan, FiguresAreUniqueAndEachIsUsed) {
  const Plan plan = make_plan(Effort::kWhole);
  std::set<std::string> names;
  std::set<std::size_t> needed;
  for (const Figure& figure : plan.figures) EXPECT_TRUE(names.insert(figure.name).second);
  for (const Line& line : plan.lines) {
    needed.insert(line.ours);
    if (line.beside) needed.insert(*line.beside);
  }
  EXPECT_EQ(needed.size(), plan.figures.size());
}

TEST(LivePlan, LinesCompareFiguresOfOneUnit) {
  const Plan plan = make_plan(Effort::kWhole);
  for (const Line& line : plan.lines) {
    if (!line.beside) continue;
    EXPECT_EQ(plan.figures[line.ours].unit, plan.figures[*line.beside].unit) << plan.title(line);
    EXPECT_TRUE(plan.figures[line.ours].settings.contains("NERVE_TRANSPORT")) << plan.title(line);
    // Other software, except that sealed packets are compared with clear ones.
    EXPECT_EQ(plan.figures[*line.beside].settings.contains("NERVE_TRANSPORT"),
              plan.figures[line.ours].settings.contains("NERVE_SEAL"))
        << plan.title(line);
  }
}

TEST(LivePlan, QuickKeepsEveryAim) {
  const Plan whole = make_plan(Effort::kWhole);
  const Plan quick = make_plan(Effort::kQuick);
  const auto aims = std::ranges::count_if(whole.lines, [](auto& line) { return !!line.aim; });
  EXPECT_EQ(static_cast<std::size_t>(aims), quick.lines.size());
}

TEST(LivePlan, FilterKeepsTheFiguresOfItsLines) {
  const Plan plan = make_plan(Effort::kWhole).only("^ib_write_lat 8 B, shm");
  ASSERT_EQ(plan.lines.size(), 1U);
  ASSERT_EQ(plan.figures.size(), 2U);
  EXPECT_EQ(plan.title(plan.lines[0]), "ib_write_lat 8 B, shm / process_vm_writev ping-pong 8 B");
  EXPECT_TRUE(make_plan(Effort::kWhole).only("no such line").lines.empty());
}

TEST(LivePlan, AimsIncludeOrExcludeTheirLimit) {
  const Aim at_most{Aim::Kind::kAtMost, 1.5};
  const Aim at_least{Aim::Kind::kAtLeast, 5};
  const Aim below{Aim::Kind::kBelow, 1};
  EXPECT_TRUE(at_most.met_by(1.5));
  EXPECT_FALSE(at_most.met_by(1.51));
  EXPECT_TRUE(at_least.met_by(5));
  EXPECT_FALSE(at_least.met_by(4.99));
  EXPECT_TRUE(below.met_by(0.99));
  EXPECT_FALSE(below.met_by(1));
  EXPECT_EQ(at_most.text(), "<= 1.5");
  EXPECT_EQ(at_least.text(), ">= 5");
  EXPECT_EQ(below.text(), "< 1");
}

TEST(LiveCommands, EachEndIsPinnedToItsCore) {
  const Cores cores{.server = 2, .client = 5};
  const Plan plan = make_plan(Effort::kQuick);
  EXPECT_EQ(command_of(figure_named(plan, "ib_send_lat 8 B, shm"), cores, End::kClient, 700),
            (Words{"taskset", "-c", "5", "ib_send_lat", "-F", "-d", "nerve0", "-p", "700", "-s",
                   "8", "-n", "5000", "127.0.0.1"}));
  EXPECT_EQ(command_of(figure_named(plan, "UCX tag_lat 8 B, posix"), cores, End::kServer, 700),
            (Words{"taskset", "-c", "2", "ucx_perftest", "-p", "700"}));
  EXPECT_EQ(command_of(figure_named(plan, "iperf3, TCP"), cores, End::kServer, 700),
            (Words{"taskset", "-c", "2", "iperf3", "-p", "700", "-s", "-1"}));
  EXPECT_EQ(command_of(figure_named(plan, "UDP ping-pong 8 B"), cores, End::kClient, 700),
            (Words{"nerve_live_baseline", "2", "5", "udp", "20000"}));
}

TEST(LiveCommands, ParsesTheRequestedFigure) {
  const Plan plan = make_plan(Effort::kWhole);
  const std::string bandwidth =
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 8          2000             0.70            16\t\t   3.5\n";
  EXPECT_EQ(read_figure(figure_named(plan, "ib_write_bw 8 B, udp"), bandwidth), 3.5);
  EXPECT_EQ(read_figure(figure_named(plan, "ib_write_bw 1 MB, udp"), bandwidth), 2);
  EXPECT_EQ(read_figure(figure_named(plan, "memcpy 1 MB"), "value 26.5\n"), 26.5);
  EXPECT_EQ(read_figure(figure_named(plan, "memcpy 1 MB"), "bind: no\n"), std::nullopt);
  EXPECT_EQ(read_figure(figure_named(plan, "fi_pingpong 8 B, tcp"), ""), std::nullopt);
}

}  // namespace nerve::bench
