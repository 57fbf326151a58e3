// Goal: a file yields its graph, or an error with the line. Method: both formats, and a table of
// invalid files.
#include "sim/topology/graph_file.h"

#include <gtest/gtest.h>

namespace nerve::sim {

TEST(GraphFile, ReadsOurFormat) {
  const auto graph = parse_graph(
      "# two NICs behind two switches\n"
      "switch left\n"
      "nic a   # the first\n"
      "switch right\r\n"
      "nic b\n"
      "\n"
      "cable a left 400G 100ns\n"
      "cable left right 12.5Gb/s 0.001ms\n"
      "cable right b 400Gbps 0s\n",
      "net.txt");
  ASSERT_TRUE(graph) << graph.error();
  ASSERT_EQ(graph->nodes.size(), 4U);
  EXPECT_EQ(graph->nodes[0].name, "a");
  EXPECT_EQ(graph->nodes[1].name, "b");
  EXPECT_EQ(graph->nodes[2].name, "left");
  EXPECT_EQ(graph->nodes[2].tier, 1U);
  EXPECT_EQ(graph->cables[0].b, NodeId{2});
  EXPECT_EQ(graph->cables[0].rate, Rate::gigabits(400));
  EXPECT_EQ(graph->cables[0].delay, std::chrono::nanoseconds{100});
  EXPECT_EQ(graph->cables[1].rate, Rate::megabits(12'500));
  EXPECT_EQ(graph->cables[1].delay, std::chrono::microseconds{1});
}

TEST(GraphFile, ReadsTheFormatOfHpcc) {
  const auto graph = parse_graph(
      "5 2 4\n"
      "1 4\n"
      "0 1 100Gbps 1000ns 0\n"
      "2 1 100Gbps 1us 0.000000\n"
      "3 4 100Gbps 1us 0\n"
      "1 4 400Gbps 1us 0\n",
      "topology.txt");
  ASSERT_TRUE(graph) << graph.error();
  ASSERT_EQ(graph->nodes.size(), 5U);
  EXPECT_EQ(graph->nodes[2].name, "nic2");  // node 3 of the file
  EXPECT_EQ(graph->nodes[3].name, "switch1");
  EXPECT_EQ(graph->nodes[4].name, "switch4");
  EXPECT_EQ(graph->cables[2].a, NodeId{2});
  EXPECT_EQ(graph->cables[3].rate, Rate::gigabits(400));
}

TEST(GraphFile, FindsTheTiersOfSwitches) {
  const auto graph = parse_graph(
      "nic a\nswitch one\nswitch two\nswitch three\n"
      "cable two three 1G 1ns\ncable one two 1G 1ns\ncable a one 1G 1ns\n",
      "f");
  ASSERT_TRUE(graph) << graph.error();
  EXPECT_EQ(graph->nodes[1].tier, 1U);
  EXPECT_EQ(graph->nodes[2].tier, 2U);
  EXPECT_EQ(graph->nodes[3].tier, 3U);
}

TEST(GraphFile, EveryTruncationIsReadOrRejected) {
  const std::string_view texts[] = {
      "nic a\nswitch s\nnic b\ncable a s 400G 100ns\ncable s b 12.5Gb/s 0.001ms\n",
      "4 2 3\n1 3\n0 1 100Gbps 1000ns 0\n2 3 100Gbps 1us 0\n1 3 400Gbps 1us 0\n"};
  for (const std::string_view text : texts) {
    for (std::size_t from = 0; from < text.size(); ++from) {
      for (std::size_t count = 0; from + count <= text.size(); ++count) {
        const auto graph = parse_graph(text.substr(from, count), "f");
        if (!graph) {
          EXPECT_TRUE(graph.error().starts_with("f:")) << graph.error();
        }
      }
    }
  }
}

TEST(GraphFile, ErrorsNameTheLine) {
  const struct {
    const char* text;
    const char* error;
  } cases[] = {
      {"", "f:1: is empty"},
      {"# nothing\n\n", "f:1: is empty"},
      {"0 0 0\n", "f:1: there are no NICs"},
      {"switch a\n", "f:1: there are no NICs"},
      {"router a\n", "f:1: \"router\" is not nic, switch or cable"},
      {"nic a\nnic a\n", "f:2: there is already a node named \"a\""},
      {"nic a\nswitch a\n", "f:2: there is already a node named \"a\""},
      {"nic\n", "f:1: nic takes one NAME"},
      {"switch a b\n", "f:1: switch takes one NAME"},
      {"nic a\nswitch s\ncable a s 100G\n", "f:3: write cable NAME NAME RATE DELAY"},
      {"nic a\nswitch s\ncable a t 100G 1ns\n", "f:3: no node above is named \"t\""},
      {"nic a\nswitch s\ncable a a 100G 1ns\n", "f:3: a cable from \"a\" to itself"},
      {"nic a\nnic b\ncable a b 100G 1ns\n",
       "f:3: a cable joins two NICs, \"a\" and \"b\"; put a switch between them"},
      {"nic a\nswitch s\ncable a s fast 1ns\n",
       "f:3: \"fast\" is not a rate; write 400G, from 1M to 100T"},
      {"nic a\nswitch s\ncable a s -1G 1ns\n",
       "f:3: \"-1G\" is not a rate; write 400G, from 1M to 100T"},
      {"nic a\nswitch s\ncable a s nanG 1ns\n",
       "f:3: \"nanG\" is not a rate; write 400G, from 1M to 100T"},
      {"nic a\nswitch s\ncable a s 1e300T 1ns\n",
       "f:3: \"1e300T\" is not a rate; write 400G, from 1M to 100T"},
      {"nic a\nswitch s\ncable a s 100G 2s\n", "f:3: \"2s\" is not a delay; write 100ns, up to 1s"},
      {"nic a\nnic b\nswitch s\ncable a s 100G 1ns\n", "f:4: NIC \"b\" has no cable"},
      {"\x01\x7f\n", "f:1: \"??\" is not nic, switch or cable"},
      {"2 1\n", "f:1: write the numbers of nodes, switches and links"},
      {"2 x 1\n", "f:1: \"x\" is not a number"},
      {"4294967295 1 1\n", "f:1: too many nodes"},
      {"2 1 1\n1\n0 1 100Gbps 1us\n",
       "f:3: the first line announces 1 switches and 1 links of five words; there are 5 "
       "words"},
      {"2 4294967295 4294967295\n1\n",
       "f:2: the first line announces 4294967295 switches and 4294967295 links of five "
       "words; there are 1 words"},
      {"2 1 1\n7\n0 1 100Gbps 1us 0\n", "f:2: \"7\" is not a node; nodes are 0 to 1"},
      {"3 2 1\n1 1\n0 1 100Gbps 1us 0\n", "f:2: switch \"1\" is listed twice"},
      {"2 1 1\n1\n0 1 100Gbps 1us 0.5\n",
       "f:3: error rate \"0.5\": must be 0; use a [[fault]] of kind errors"},
      {"2 0 1\n0 1 100Gbps 1us 0\n",
       "f:2: a cable joins two NICs, \"0\" and \"1\"; put a switch between them"},
  };
  for (const auto& one : cases) {
    const auto graph = parse_graph(one.text, "f");
    ASSERT_FALSE(graph) << one.text;
    EXPECT_EQ(graph.error(), one.error);
  }
}

}  // namespace nerve::sim
