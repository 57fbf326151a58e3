// Goal: topology files of SimAI yield the network and the interconnect of the servers, or an error
// with the line. Method: a file of two servers, damaged in every way; runs whose times show the
// interconnect of the file.
#include <gtest/gtest.h>

#include <fstream>

#include "sim/run.h"
#include "sim/run_setup.h"
#include "sim/scenario/scenario_file.h"
#include "sim/topology/graph_file.h"

namespace nerve::sim::simai_topology_test {
namespace {

// Two servers of two GPUs; the GPUs of a rail on one leaf.
constexpr std::string_view kTwoServers =
    "9 2 2 3 10 H100\n"
    "4 5 6 7 8 \n"
    "0 4 2880Gbps 0.000025ms 0\n"
    "0 6 400Gbps 0.0005ms 0\n"
    "1 4 2880Gbps 0.000025ms 0\n"
    "1 7 400Gbps 0.0005ms 0\n"
    "2 5 2880Gbps 0.000025ms 0\n"
    "2 6 400Gbps 0.0005ms 0\n"
    "3 5 2880Gbps 0.000025ms 0\n"
    "3 7 400Gbps 0.0005ms 0\n"
    "6 8 800Gbps 0.0005ms 0\n"
    "7 8 800Gbps 0.0005ms 0\n";

std::string replaced(std::string_view from, std::string_view to) {
  std::string text{kTwoServers};
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string why(const std::string& text) {
  const auto graph = parse_graph(text, "f");
  return graph ? "was read" : graph.error();
}

// What a run says; the scenario has these lines in [servers].
std::string answer(const std::string& servers, Rate* interconnect = nullptr) {
  const std::string file =
      testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".topo";
  std::ofstream{file} << kTwoServers;
  const std::string toml = "[servers]\n" + servers + "\n[fabric]\ntopology = \"file\"\nfile = \"" +
                           file + "\"\n[[job]]\nkind = \"all-reduce\"\nsize = \"1 MB\"\n";
  const auto scenario = read_scenario(toml, "x.toml");
  EXPECT_TRUE(scenario) << text_of(scenario.error()[0]);
  if (!scenario) return "";
  if (interconnect != nullptr) {
    CheckedMemory payload;
    const auto setup = set_up(*scenario, payload);
    EXPECT_TRUE(setup) << setup.error();
    if (setup) *interconnect = setup->cluster.interconnect;
  }
  const auto result = run(*scenario);
  if (result && !result->jobs[0].done) return result->jobs[0].trouble;
  std::string error = result ? "runs" : result.error();
  if (const auto at = error.find(file); at != std::string::npos) {
    error.replace(at, file.size(), "FILE");
  }
  return error;
}

}  // namespace

TEST(SimaiTopology, NvSwitchesAreTheInterconnectAndNotInTheNetwork) {
  const auto graph = parse_graph(kTwoServers, "f");
  ASSERT_TRUE(graph) << graph.error();
  ASSERT_TRUE(graph->servers);
  EXPECT_EQ(graph->servers->gpus, 2U);
  EXPECT_EQ(graph->servers->interconnect, Rate::gigabits(2880));
  EXPECT_EQ(graph->servers->interconnect_delay, std::chrono::nanoseconds{50});
  ASSERT_EQ(graph->nodes.size(), 7U);
  EXPECT_EQ(graph->nodes[3].name, "nic3");
  EXPECT_EQ(graph->nodes[4].name, "switch6");
  EXPECT_EQ(graph->nodes[4].tier, 1U);
  EXPECT_EQ(graph->nodes[6].name, "switch8");
  EXPECT_EQ(graph->nodes[6].tier, 2U);
  ASSERT_EQ(graph->cables.size(), 6U);
  EXPECT_EQ(graph->cables[0].a, NodeId{0});
  EXPECT_EQ(graph->cables[0].b, NodeId{4});
  EXPECT_EQ(graph->cables[0].rate, Rate::gigabits(400));
  EXPECT_EQ(graph->cables[0].delay, std::chrono::nanoseconds{500});
  EXPECT_EQ(graph->cables[5].rate, Rate::gigabits(800));
}

TEST(SimaiTopology, SeveralNvSwitchesOfAServerAddUp) {
  const auto graph = parse_graph(
      "6 2 2 1 6 A100\n3 2 5\n0 2 300G 1ns 0\n0 3 300G 1ns 0\n1 3 300G 1ns 0\n1 2 300G 1ns 0\n"
      "5 0 100G 1ns 0\n1 5 100G 1ns 0\n",
      "f");
  EXPECT_FALSE(graph);  // node 4 is a GPU too, which makes three
  const auto even = parse_graph(
      "5 2 2 1 6 A100\n3 2 4\n0 2 300G 1ns 0\n0 3 300G 1ns 0\n1 3 300G 1ns 0\n1 2 300G 1ns 0\n"
      "4 0 100G 1ns 0\n1 4 100G 1ns 0\n",
      "f");
  ASSERT_TRUE(even) << even.error();
  EXPECT_EQ(even->servers->interconnect, Rate::gigabits(600));
}

TEST(SimaiTopology, WithoutNvSwitchesTheScenarioDecides) {
  const auto graph = parse_graph("3 2 0 1 2 A100\n2\n0 2 100G 1ns 0\n1 2 100G 1ns 0\n", "f");
  ASSERT_TRUE(graph) << graph.error();
  EXPECT_EQ(graph->servers, (ServersOfFile{.gpus = 2}));
}

TEST(SimaiTopology, EveryTruncationIsReadOrRejected) {
  for (std::size_t from = 0; from < kTwoServers.size(); ++from) {
    for (std::size_t count = 0; from + count <= kTwoServers.size(); ++count) {
      const auto graph = parse_graph(kTwoServers.substr(from, count), "f");
      if (!graph) {
        EXPECT_TRUE(graph.error().starts_with("f:")) << graph.error();
      }
    }
  }
}

TEST(SimaiTopology, ErrorsNameTheLine) {
  EXPECT_EQ(why(replaced("9 2 2 3 10", "9 2 2 3 11")),
            "f:12: the first line announces 5 switches and 11 links of five words; there are 55 "
            "words");
  EXPECT_EQ(why(replaced("9 2 2", "9 3 2")),
            "f:1: 3 GPUs per server: expected 1 to 256 that divide the 4 GPUs");
  EXPECT_EQ(why(replaced("9 2 2", "9 0 2")),
            "f:1: 0 GPUs per server: expected 1 to 256 that divide the 4 GPUs");
  EXPECT_EQ(why(replaced("9 2 2", "9 x 2")), "f:1: \"x\" is not a number");
  EXPECT_EQ(why(replaced("4 5 6 7 8", "4 5 6 7 9")), "f:2: \"9\" is not a node; nodes are 0 to 8");
  EXPECT_EQ(why(replaced("4 5 6 7 8", "4 5 6 7 4")), "f:2: switch \"4\" is listed twice");
  EXPECT_EQ(why(replaced("0 4 2880Gbps", "0 4 fast")),
            "f:3: \"fast\" is not a rate; write 400G, from 1M to 100T");
  EXPECT_EQ(why(replaced("0 4 2880Gbps 0.000025ms 0", "0 4 2880Gbps 0.000025ms 0.1")),
            "f:3: error rate \"0.1\": must be 0; use a [[fault]] of kind errors");
  EXPECT_EQ(why(replaced("2 5 2880Gbps", "2 4 2880Gbps")),
            "f:7: NVSwitch 4 connects GPU 2 of server 1, but it is in server 0; an interconnect "
            "ends at its server");
  EXPECT_EQ(why(replaced("2 5 2880Gbps", "6 5 2880Gbps")),
            "f:7: a link from \"6\" to \"5\": an NVSwitch may only be connected to GPUs of one "
            "server");
  EXPECT_EQ(why(replaced("3 5 2880Gbps", "3 5 900Gbps")),
            "f:12: GPU 0 has links of 2880 Gb/s to NVSwitches, GPU 3 of 900 Gb/s; servers have one "
            "interconnect rate");
  EXPECT_EQ(why(replaced("3 5 2880Gbps 0.000025ms", "3 5 2880Gbps 1us")),
            "f:9: a link to an NVSwitch with a delay of 1 us, another has 25 ns; servers have one "
            "interconnect_delay");
  EXPECT_EQ(why(replaced("3 7 400Gbps", "6 7 400Gbps")), "f:12: NIC \"nic3\" has no cable");
}

TEST(SimaiTopology, DecidesAboutTheInterconnect) {
  Rate interconnect{};
  EXPECT_EQ(answer("count = 2\ngpus = 2", &interconnect), "runs");
  EXPECT_EQ(interconnect, Rate::gigabits(2880));
  EXPECT_EQ(answer("count = 2\ngpus = 2\ninterconnect = \"2880 Gb/s\"\ninterconnect_delay = "
                   "\"50 ns\""),
            "runs");
  EXPECT_EQ(
      answer("count = 2\ngpus = 2\ninterconnect = \"900 Gb/s\""),
      "x.toml:4: servers.interconnect: 900 Gb/s, but the GPUs in FILE have links of 2880 Gb/s "
      "to NVSwitches; leave interconnect out, or change the file");
  EXPECT_EQ(answer("count = 2\ngpus = 2\ninterconnect_delay = \"1 us\""),
            "x.toml:4: servers.interconnect_delay: 1 us, but two links to an NVSwitch in FILE take "
            "50 ns; leave interconnect_delay out, or change the file");
  EXPECT_EQ(answer("count = 1\ngpus = 4"),
            "FILE has servers of 2 GPUs with a NIC each, the scenario has servers of 4 GPUs and 4 "
            "NICs");
  EXPECT_EQ(answer("count = 4\ngpus = 2\nnics = 1"),
            "FILE has servers of 2 GPUs with a NIC each, the scenario has servers of 2 GPUs and 1 "
            "NICs");
}

}  // namespace nerve::sim::simai_topology_test
