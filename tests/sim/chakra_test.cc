// Goal: traces of Chakra are read field by field or rejected with the position of the damage, and
// run as their dependencies say. Method: traces written byte by byte; jobs on a network whose times
// can be worked out by hand.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/run.h"
#include "sim/scenario/scenario_file.h"
#include "sim/workload/chakra/chakra_world.h"
#include "tests/sim/chakra_bytes.h"
#include "tests/sim/fake_cluster.h"

namespace nerve::sim::chakra_test {
namespace {

using namespace test;
using std::chrono::microseconds;
using std::chrono::nanoseconds;
using Traces = std::vector<std::string>;

// A ring all-reduce of 1 MB by two ranks sends half of it twice, at 50 GB/s with 2 us of latency;
// the last acknowledgement takes another 2 us.
constexpr FakeNetwork kTwo{.places = 2};
constexpr microseconds kAllReduce{20 + 3 * 2};

std::string prefix_of_test() {
  return testing::TempDir() + "nerve_chakra_" +
         testing::UnitTest::GetInstance()->current_test_info()->name();
}

JobSpec job_of(const Traces& traces) {
  const std::string prefix = prefix_of_test();
  for (std::size_t rank = 0; rank < traces.size(); ++rank) {
    std::ofstream{prefix + "." + std::to_string(rank) + ".et", std::ios::binary} << traces[rank];
  }
  std::filesystem::remove(prefix + "." + std::to_string(traces.size()) + ".et");
  JobSpec spec;
  spec.name = "c";
  spec.work = ChakraSpec{.file = prefix};
  return spec;
}

JobResult run(const FakeNetwork& network, const Traces& traces) {
  FakeCluster cluster{network};
  return run(cluster, job_of(traces));
}
Duration time_of(const FakeNetwork& network, const Traces& traces) {
  const JobResult result = run(network, traces);
  return result.steps.empty() ? Duration{} : result.steps[0];
}

std::string refused(std::uint32_t places, const Traces& traces) {
  FakeCluster cluster{{.places = places}};
  const auto job = make_job(job_of(traces), cluster.context());
  std::string error = job ? "was made" : job.error();
  const std::string prefix = prefix_of_test();
  for (auto at = error.find(prefix); at != std::string::npos; at = error.find(prefix)) {
    error.replace(at, prefix.size(), "T");
  }
  return error;
}

std::string why(const std::string& bytes) {
  const auto trace = parse_chakra(bytes, "t", 1, 4);
  return trace ? "was read" : trace.error();
}
std::string why(const ChakraNodeBytes& node) { return why(chakra_trace({node})); }

}  // namespace

TEST(ChakraFile, IsReadFieldByField) {
  const auto trace = parse_chakra(
      chakra_trace({compute_node(7, 12).after({3}).on_cpu(),
                    ChakraNodeBytes{3, kComp}.has("num_ops", 5'000'000).has("tensor_size", 9),
                    send_node(9, 2, 1000, 42).after({7, 3}).after_control(8),
                    receive_node(8, 3, 17).has("comm_dst", 1),
                    collective_node(10, kChakraAllGather, 64).has("pg_name", "tp").after({9}),
                    collective_node(11, kChakraBarrier, 0).has("pg_name", "").after({10}),
                    collective_node(12, kChakraAllToAll, 5).has("pg_name", "tp"),
                    ChakraNodeBytes{2, kLoad}.takes(3), ChakraNodeBytes{1, kMetadata}}),
      "t", 1, 4);
  ASSERT_TRUE(trace) << trace.error();
  ASSERT_EQ(trace->nodes.size(), 9U);
  // By id, but after the nodes that they depend on.
  const std::uint64_t ids[] = {1, 2, 3, 7, 8, 9, 10, 11, 12};
  for (std::size_t i = 0; i < std::size(ids); ++i) EXPECT_EQ(trace->nodes[i].id, ids[i]) << i;
  EXPECT_EQ(trace->nodes[0].type, ChakraType::kNothing);
  EXPECT_EQ(trace->nodes[1].type, ChakraType::kMemory);
  EXPECT_EQ(trace->nodes[1].duration_us, 3U);
  EXPECT_EQ(trace->nodes[2].type, ChakraType::kGpu);
  EXPECT_EQ(trace->nodes[2].operations, 5'000'000U);
  EXPECT_EQ(trace->nodes[3].type, ChakraType::kCpu);
  EXPECT_EQ(trace->nodes[3].duration_us, 12U);
  EXPECT_EQ(trace->nodes[4].type, ChakraType::kReceive);
  EXPECT_EQ(trace->nodes[4].peer, 3U);
  EXPECT_EQ(trace->nodes[4].bytes, 17U);
  EXPECT_EQ(trace->nodes[5].type, ChakraType::kSend);
  EXPECT_EQ(trace->nodes[5].peer, 2U);
  EXPECT_EQ(trace->nodes[5].tag, 42U);
  EXPECT_EQ(trace->nodes[5].bytes, 1000U);
  EXPECT_EQ(trace->nodes[6].collective, CollectiveKind::kAllGather);
  EXPECT_EQ(trace->groups[trace->nodes[6].group], "tp");
  EXPECT_EQ(trace->nodes[7].collective, CollectiveKind::kAllReduce);
  EXPECT_EQ(trace->groups[trace->nodes[7].group], "");
  EXPECT_EQ(trace->nodes[7].bytes, 4U);
  EXPECT_EQ(trace->nodes[8].group, trace->nodes[6].group);
  // The dependencies of node 9, as indices.
  std::vector<std::uint32_t> of_nine{trace->dependencies.begin() + trace->nodes[5].first_dependency,
                                     trace->dependencies.begin() + trace->end_of_dependencies(5)};
  std::ranges::sort(of_nine);
  EXPECT_EQ(of_nine, (std::vector<std::uint32_t>{2, 3, 4}));
}

TEST(ChakraFile, EveryTruncationAndEveryDamagedByteIsReadOrRejected) {
  const std::string whole =
      chakra_trace({compute_node(1, 300), collective_node(2, kChakraAllReduce, 70'000).after({1}),
                    send_node(3, 0, 5).after({2}).has("pg_name", "x")});
  ASSERT_EQ(why(whole), "was read");
  for (std::size_t count = 0; count < whole.size(); ++count) {
    const std::string error = why(whole.substr(0, count));
    EXPECT_TRUE(error == "was read" || error.starts_with("t: byte ")) << error;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char damage : {'\x00', '\x01', '\x7f', '\x80', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = damage;
      const std::string error = why(damaged);
      EXPECT_TRUE(error == "was read" || error.starts_with("t: byte ")) << error;
    }
  }
}

TEST(ChakraFile, DamageHasItsPosition) {
  const std::string metadata = message(bytes_field(1, "0.0.4"));
  EXPECT_EQ(why(std::string{}), "t: byte 0: the file is empty");
  EXPECT_EQ(why("\x1f\x8b\x08"), "t: byte 0: the file is compressed; use gunzip");
  EXPECT_EQ(why("\x05"), "t: byte 1: a field of 5 bytes, but 0 are left");
  EXPECT_EQ(why(std::string(10, '\xff')), "t: byte 0: a number of more than 64 bits");
  EXPECT_EQ(why("\xff"), "t: byte 0: the file ends within a number");
  EXPECT_EQ(why(compute_node(1, 2).bytes()),
            "t: byte 2: the first message is not a GlobalMetadata; is this a Chakra trace of "
            "version 0.0.4 or later?");
  EXPECT_EQ(why(metadata), "t: byte 8: the trace has no nodes");
  EXPECT_EQ(why(metadata + message("\x08")), "t: byte 10: the file ends within a number");
  EXPECT_EQ(why(metadata + message("\x0b\x01")), "t: byte 10: a field of the unknown wire type 3");
  EXPECT_EQ(why(metadata + message(std::string_view{"\x00\x01", 2})),
            "t: byte 10: a field with number 0");
}

TEST(ChakraFile, RefusesWhatItCannotRun) {
  EXPECT_EQ(why(ChakraNodeBytes{5, 8}),
            "t: byte 9: node 5: type 8 is not supported; expected one of 0 to 7, INVALID_NODE to "
            "COMM_COLL_NODE");
  EXPECT_EQ(why(ChakraNodeBytes{5, kLoad}),
            "t: byte 9: node 5: a memory node without duration_micros; memory is not modelled");
  EXPECT_EQ(why(compute_node(5, 1'000'000'001)),
            "t: byte 9: node 5: duration_micros is 1000000001, expected at most 1000000000");
  EXPECT_EQ(why(ChakraNodeBytes{5, kColl}.has("comm_size", 1)),
            "t: byte 9: node 5: comm_type is missing");
  EXPECT_EQ(why(ChakraNodeBytes{5, kColl}.has("comm_type", std::uint64_t{0})),
            "t: byte 9: node 5: comm_size is missing");
  EXPECT_EQ(
      why(collective_node(5, 3, 1)),
      "t: byte 9: node 5: comm_type GATHER is not supported; expected ALL_REDUCE, ALL_GATHER, "
      "BROADCAST, ALL_TO_ALL, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK or BARRIER");
  EXPECT_TRUE(why(collective_node(5, 77, 1)).starts_with("t: byte 9: node 5: comm_type 77 is not"));
  EXPECT_EQ(why(collective_node(5, kChakraAllReduce, ~std::uint64_t{0})),
            "t: byte 9: node 5: comm_size is 18446744073709551615, expected 0 to 1125899906842624");
  EXPECT_EQ(why(ChakraNodeBytes{5, kColl}.has("comm_type", "ALL_REDUCE")),
            "t: byte 18: comm_type is not a whole number");
  EXPECT_EQ(why(collective_node(5, kChakraAllReduce, 1).has("comm_priority", 2)),
            "t: byte 9: node 5: comm_priority is 2, expected 0: collectives have no priorities");
  const auto dimensions = [](std::string_view bools) {
    return collective_node(5, kChakraAllReduce, 1)
        .add(bytes_field(10,
                         bytes_field(1, "involved_dim") + bytes_field(28, bytes_field(1, bools))));
  };
  EXPECT_EQ(why(dimensions("\x01\x01")), "was read");
  EXPECT_EQ(why(dimensions(std::string_view{"\x01\x00", 2})),
            "t: byte 9: node 5: involved_dim leaves out a dimension of ASTRA-sim's network; use "
            "pg_name");
  EXPECT_EQ(why(send_node(5, 4, 1)),
            "t: byte 9: node 5: comm_dst is 4, expected another rank from 0 to 3");
  EXPECT_EQ(why(send_node(5, 1, 1)),
            "t: byte 9: node 5: comm_dst is 1, expected another rank from 0 to 3");
  EXPECT_EQ(why(send_node(5, 2, 0)),
            "t: byte 9: node 5: comm_size is 0, expected 1 to 1125899906842624");
  EXPECT_EQ(why(send_node(5, 2, 1).has("comm_src", 3)),
            "t: byte 9: node 5: comm_src is 3, but this is the trace of rank 1");
  EXPECT_EQ(why(ChakraNodeBytes{5, kReceiveFrom}.has("comm_size", 1)),
            "t: byte 9: node 5: comm_src is missing");
  EXPECT_EQ(why(collective_node(5, 0, 1).has("pg_name", "a\nb")),
            "t: byte 48: pg_name is longer than 256 bytes or not printable");
}

TEST(ChakraFile, DependenciesMustExistAndEnd) {
  EXPECT_EQ(why(chakra_trace({compute_node(5, 1).after({6})})),
            "t: byte 9: node 5: it depends on node 6, which is not in the file");
  EXPECT_EQ(why(chakra_trace({compute_node(5, 1), compute_node(5, 1)})),
            "t: byte 19: node 5: a second node with this id");
  EXPECT_EQ(why(compute_node(5, 1).after({5})),
            "t: byte 9: node 5: it depends on itself, directly or through other nodes");
  EXPECT_EQ(why(chakra_trace({compute_node(4, 1), compute_node(5, 1).after({6}),
                              compute_node(6, 1).after({5, 4})})),
            "t: byte 19: node 5: it depends on itself, directly or through other nodes");
}

TEST(ChakraJob, TakesItsComputeAndItsAllReduce) {
  const std::string trace =
      chakra_trace({compute_node(1, 30), collective_node(2, kChakraAllReduce, 1'000'000).after({1}),
                    ChakraNodeBytes{3, kComp}.has("num_ops", 4'000'000'000).after({2})});
  const JobResult result = run(kTwo, {trace, trace});
  // 4e9 operations at 400e12 per second are 10 us.
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(result.steps[0], microseconds{40} + kAllReduce);
  EXPECT_EQ(result.bound, microseconds{40});
  EXPECT_EQ(result.bytes_moved, 2'000'000U);
  EXPECT_EQ(result.ranks[1].compute, 40'000'000U);
  EXPECT_EQ(Duration(static_cast<std::int64_t>(result.ranks[1].exposed)), kAllReduce);
  EXPECT_EQ(result.work, "Chakra traces of 2 ranks, 6 nodes");
}

TEST(ChakraJob, CommunicationOverlapsWithComputeThatDoesNotDependOnIt) {
  const std::string trace = chakra_trace({collective_node(1, kChakraAllReduce, 1'000'000),
                                          compute_node(2, 20), compute_node(3, 5).after({1, 2})});
  EXPECT_EQ(time_of(kTwo, {trace, trace}), kAllReduce + microseconds{5});
}

TEST(ChakraJob, GpuAndCpuComputeOneNodeAtATime) {
  const std::string one =
      chakra_trace({compute_node(1, 10), compute_node(2, 10), compute_node(3, 15).on_cpu(),
                    compute_node(4, 4).on_cpu(), ChakraNodeBytes{5, kLoad}.takes(23)});
  const JobResult result = run(kTwo, {one, one});
  EXPECT_EQ(result.steps[0], microseconds{23});
  EXPECT_EQ(result.bound, microseconds{23});
  EXPECT_EQ(result.ranks[0].compute, 20'000'000U);  // of either
  EXPECT_EQ(result.ranks[0].exposed, 3'000'000U);
}

// Traces of PyTorch have both the call and the kernel as communication nodes.
TEST(ChakraJob, CommunicationNodesOfTheCpuAreCalls) {
  const std::string one =
      chakra_trace({ChakraNodeBytes{1, kColl}.on_cpu().takes(4),
                    collective_node(2, kChakraAllReduce, 1'000'000).takes(99).after({1})});
  EXPECT_EQ(time_of(kTwo, {one, one}), microseconds{4} + kAllReduce);
}

TEST(ChakraJob, TheFirstOfTheReadyNodesRuns) {
  // Node 1 makes 2 and 3 ready at once; 4 waits for 2.
  const std::string one = chakra_trace({compute_node(1, 1), compute_node(2, 10).after({1}),
                                        compute_node(3, 10).after({1}),
                                        ChakraNodeBytes{4, kLoad}.takes(10).after({2})});
  EXPECT_EQ(time_of(kTwo, {one, one}), microseconds{21});
}

TEST(ChakraJob, MessagesAreMatchedByTag) {
  // The receiver wants tag 2 first, which is sent last.
  const Traces traces{
      chakra_trace({send_node(1, 1, 500'000, 1), send_node(2, 1, 500'000, 2).after({1}),
                    receive_node(3, 1, 100'000, 7)}),
      chakra_trace({receive_node(1, 0, 500'000, 2), compute_node(2, 50).after({1}),
                    receive_node(3, 0, 500'000, 1), send_node(4, 0, 100'000, 7).after({2})})};
  const JobResult result = run(kTwo, traces);
  // 10 us for each large message and 2 us for the small one, with 2 us of latency. The second send
  // waits for the acknowledgement of the first; the last acknowledgement ends the job.
  EXPECT_EQ(result.steps[0], microseconds{(10 + 2 + 2) + (10 + 2) + 50 + (2 + 2 + 2)});
  EXPECT_EQ(result.bytes_moved, 1'100'000U);
}

TEST(ChakraJob, GroupsAreTheRanksThatUseTheName) {
  const auto trace = [](std::string_view group) {
    return chakra_trace({collective_node(1, kChakraAllToAll, 1000).has("pg_name", group),
                         collective_node(2, kChakraAllReduce, 0),
                         collective_node(3, kChakraBroadcast, 10).has("pg_name", group)});
  };
  FakeCluster cluster{{.places = 4}};
  run(cluster, job_of({trace("even"), trace("odd"), trace("even"), trace("odd")}));
  ASSERT_EQ(cluster.sent().size(), 4U + 2);
  for (const Message& message : cluster.sent()) {
    EXPECT_EQ(message.from.value() % 2, message.to.value() % 2);
  }
}

// The volume is that of the whole buffer: what all ranks contribute to an all-gather.
TEST(ChakraJob, AllGatherCountsWhatARankContributes) {
  const std::string trace = chakra_trace({collective_node(1, kChakraAllGather, 1000)});
  EXPECT_EQ(run({.places = 4}, {trace, trace, trace, trace}).bytes_moved, 4U * 3 * 1000);
  const std::string scatter = chakra_trace({collective_node(1, kChakraReduceScatter, 1000)});
  EXPECT_EQ(run({.places = 4}, {scatter, scatter, scatter, scatter}).bytes_moved, 3U * 1000);
}

TEST(ChakraJob, AGroupOfOneHasNothingToSend) {
  const auto trace = [](std::string_view group) {
    return chakra_trace({collective_node(1, kChakraAllReduce, 1000).has("pg_name", group),
                         compute_node(2, 5).after({1})});
  };
  EXPECT_EQ(time_of(kTwo, {trace("a"), trace("b")}), microseconds{5});
}

TEST(ChakraJob, OperationsOfAGroupKeepTheirOrder) {
  // At rank 1 the second collective is ready long before the first.
  const Traces traces{
      chakra_trace({collective_node(1, kChakraAllReduce, 1'000'000),
                    collective_node(2, kChakraAllReduce, 0), compute_node(3, 1).after({2})}),
      chakra_trace({compute_node(0, 100),
                    collective_node(1, kChakraAllReduce, 1'000'000).after({0}),
                    collective_node(2, kChakraAllReduce, 0), compute_node(3, 1).after({2})})};
  EXPECT_EQ(time_of(kTwo, traces), microseconds{101} + kAllReduce);
}

TEST(ChakraJob, LongChainsAreNotRecursive) {
  std::vector<ChakraNodeBytes> chain{ChakraNodeBytes{0, kMetadata}};
  for (std::uint64_t i = 1; i < 200'000; ++i) {
    chain.push_back(ChakraNodeBytes{i, kMetadata}.after({i - 1}));
  }
  const std::string trace = chakra_trace(chain);
  EXPECT_EQ(time_of(kTwo, {trace, trace}), Duration{});
}

TEST(ChakraJob, StragglerIsSlow) {
  const std::string trace = chakra_trace(
      {compute_node(1, 30), collective_node(2, kChakraAllReduce, 1'000'000).after({1})});
  JobSpec spec = job_of({trace, trace});
  spec.stragglers.push_back({.rank = 0, .slowdown = 2});
  FakeCluster cluster{kTwo};
  const JobResult result = run(cluster, spec);
  // Rank 1 began earlier, so the straggler need not wait for its last acknowledgement; rank 1 does.
  EXPECT_EQ(result.steps[0], microseconds{60} + kAllReduce);
  EXPECT_EQ(result.bound, microseconds{60});
}

TEST(ChakraJob, RejectsTracesThatDoNotFitTogether) {
  const std::string reduce = chakra_trace({collective_node(1, kChakraAllReduce, 8)});
  const std::string twice = chakra_trace(
      {collective_node(1, kChakraAllReduce, 8), collective_node(2, kChakraAllReduce, 8)});
  EXPECT_EQ(
      refused(2, {reduce, chakra_trace({collective_node(1, kChakraAllReduce, 9)})}),
      "job c: T.1.et: byte 9: node 1: all-reduce of 9 bytes is number 1 of all ranks, but the "
      "trace of rank 0 has all-reduce of 8 bytes there");
  EXPECT_EQ(refused(2, {reduce, twice}),
            "job c: T.1.et: byte 47: node 2: all-reduce of 8 bytes is number 2 of all ranks, but "
            "the trace of rank 0 has only 1");
  EXPECT_EQ(refused(2, {twice, reduce}),
            "job c: T.1.et: 1 operations of all ranks, but the trace of rank 0 has 2");
  EXPECT_EQ(refused(2, {reduce, chakra_trace({compute_node(1, 1)})}),
            "job c: T.*.et: 1 of 2 traces have no collective of all ranks, but that of rank 0 has "
            "1; collectives of fewer ranks need a pg_name");
  EXPECT_EQ(refused(2, {chakra_trace({compute_node(1, 1)}), chakra_trace({send_node(1, 0, 5, 3)})}),
            "job c: T.*.et: rank 1 has messages from rank 1 to 0 with tag 3, but the trace of rank "
            "0 has none of them");
  EXPECT_EQ(
      refused(2, {chakra_trace({receive_node(1, 1, 6, 3)}), chakra_trace({send_node(1, 0, 5, 3)})}),
      "job c: T.1.et: byte 9: node 1: a message of 5 bytes is number 1 of messages from rank "
      "1 to 0 with tag 3, but the trace of rank 0 has a message of 6 bytes there");
  EXPECT_EQ(
      refused(2, {chakra_trace({compute_node(1, 1'000'000'000), compute_node(2, 1'000'000'000),
                                compute_node(3, 1'000'000'000), compute_node(4, 1'000'000'000)})}),
      "job c: T.0.et: it computes for more than an hour");
  const std::string gather =
      chakra_trace({collective_node(1, kChakraAllGather, std::uint64_t{1} << 50U)});
  EXPECT_EQ(
      refused(2, {gather, gather}),
      "job c: T.*.et: all ranks: an all-gather of 1125899906842624 bytes from each of 2 ranks "
      "is more than 1024 TiB");
  EXPECT_EQ(refused(2, {reduce, reduce, reduce}),
            "job c: there is a trace of rank 2, T.2.et, but the job has 2 ranks");
  EXPECT_EQ(refused(3, {reduce, reduce}), "job c: T.2.et: cannot be opened");
}

TEST(ChakraJob, TracesThatWaitForEachOtherEndTheRun) {
  const Traces traces{chakra_trace({receive_node(1, 1, 5), send_node(2, 1, 5).after({1})}),
                      chakra_trace({receive_node(1, 0, 5), send_node(2, 0, 5).after({1})})};
  FakeCluster cluster{kTwo};
  const auto job = make_job(job_of(traces), cluster.context());
  ASSERT_TRUE(job) << job.error();
  EXPECT_FALSE(cluster.run(**job));
  EXPECT_EQ((*job)->result().trouble, "0 of 2 ranks are through; 4 of 4 nodes are not done");
}

// The workload of fuzz/corpus/simai/moe as traces: the same volume, and nearly the same time.
TEST(ChakraJob, MovesAsMuchAsTheSameSimaiWorkload) {
  const auto trace = [](std::uint32_t rank) {
    const std::uint32_t t = rank % 2;
    const std::uint32_t d = rank / 2;
    const std::string tp = "tp" + std::to_string(d);
    const std::string dp = "dp" + std::to_string(t);
    const std::string ep = "ep" + std::to_string(t) + "." + std::to_string(d / 2);
    const std::string same = "same" + std::to_string(t) + "." + std::to_string(d % 2);
    std::vector<ChakraNodeBytes> nodes;
    std::uint64_t last = 0;  // none yet
    const auto next = [&](ChakraNodeBytes node) {
      if (last > 0) node.after({last});
      nodes.push_back(node);
      ++last;
    };
    const auto collective = [&](std::uint64_t kind, std::uint64_t bytes, std::string_view group) {
      next(collective_node(last + 1, kind, bytes).has("pg_name", group));
    };
    next(compute_node(last + 1, 3));
    collective(kChakraAllReduce, 200'000, tp);
    next(compute_node(last + 1, 1));
    collective(kChakraAllToAll, 100'000, ep);
    next(compute_node(last + 1, 5));
    collective(kChakraAllToAll, 100'000, ep);
    next(compute_node(last + 1, 9));
    collective(kChakraAllToAll, 100'000, ep);
    next(compute_node(last + 1, 1));
    collective(kChakraAllToAll, 100'000, ep);
    next(compute_node(last + 1, 4));
    collective(kChakraAllReduce, 200'000, tp);
    next(compute_node(last + 1, 2));
    const std::uint64_t end = last;
    nodes.push_back(
        collective_node(end + 1, kChakraAllReduce, 300'000).has("pg_name", same).after({end}));
    nodes.push_back(
        collective_node(end + 2, kChakraReduceScatter, 800'000).has("pg_name", dp).after({end}));
    nodes.push_back(
        collective_node(end + 3, kChakraAllGather, 100'000).has("pg_name", dp).after({end}));
    return chakra_trace(nodes);
  };
  Traces traces;
  for (std::uint32_t rank = 0; rank < 8; ++rank) traces.push_back(trace(rank));
  const FakeNetwork network{.places = 8, .per_server = 4};
  const JobResult chakra = run(network, traces);
  JobSpec spec;
  spec.name = "s";
  spec.work = SimaiSpec{.file = NERVE_SOURCE_DIR "/fuzz/corpus/simai/moe"};
  FakeCluster cluster{network};
  const JobResult simai = run(cluster, spec);
  EXPECT_EQ(chakra.bytes_moved, simai.bytes_moved);
  // SimAI's process times and the nanoseconds of its empty layers are not in the traces.
  EXPECT_LT(chakra.steps[0], simai.steps[0]);
  EXPECT_LT(simai.steps[0] - chakra.steps[0], nanoseconds{1'500});
}

TEST(ChakraJob, RunsInAScenario) {
  Traces traces;
  for (std::uint64_t rank = 0; rank < 4; ++rank) {
    traces.push_back(
        chakra_trace({collective_node(1, kChakraAllReduce, 400'000), compute_node(2, 20).after({1}),
                      send_node(3, (rank + 1) % 4, 100'000).after({2}),
                      receive_node(4, (rank + 3) % 4, 100'000).after({2})}));
  }
  const JobSpec job = job_of(traces);
  const std::string toml =
      "[servers]\ncount = 2\ngpus = 2\n[[job]]\nkind = \"chakra\"\ntflops = 100\nfile = \"" +
      std::get<ChakraSpec>(job.work).file + "\"\n";
  const auto scenario = read_scenario(toml, "x.toml", {});
  ASSERT_TRUE(scenario) << text_of(scenario.error()[0]);
  EXPECT_EQ(std::get<ChakraSpec>(scenario->jobs[0].work).tflops, 100);
  EXPECT_GT(memory_needed(*scenario), 0U);
  for (const Fidelity fidelity : {Fidelity::kPacket, Fidelity::kFlow}) {
    Scenario one = *scenario;
    one.fidelity = fidelity;
    const auto result = sim::run(one);
    ASSERT_TRUE(result) << result.error();
    EXPECT_TRUE(result->jobs[0].done) << result->jobs[0].trouble;
    EXPECT_EQ(result->jobs[0].bytes_moved, 2U * 3 * 400'000 + 4 * 100'000);
  }
}

}  // namespace nerve::sim::chakra_test
