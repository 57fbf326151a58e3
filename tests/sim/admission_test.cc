// Goal: a receiver has no more bytes on their way to it than it allows, serves its senders in turn,
// and never stops doing so: not when it has nothing left to allow, not when a connection breaks.
// Method: the accounts alone, then small clusters and scenarios with and without admission.
#include "sim/host/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/prng.h"
#include "sim/run.h"
#include "sim/scenario/scenario_file.h"
#include "sim/topology/topologies.h"
#include "tests/sim/cluster_rig.h"

namespace nerve::sim::admission_test {
namespace {

using std::chrono::microseconds;
using test::ClusterRig;

constexpr std::uint64_t kMegabyte = 1'000'000;

ClusterConfig admitting_hosts(std::uint32_t count, std::uint64_t limit, std::uint32_t chunk) {
  ClusterConfig config;
  config.shape.servers = count;
  config.shape.gpus = 1;
  config.shape.nics = 1;
  config.back_end.admission = {.limit = limit, .chunk = chunk};
  return config;
}

SimulatedNetwork without_control() {
  SimulatedNetwork network;
  network.nics.engine.flow_control.algorithm = nic::CcAlgorithm::kNone;
  network.fabric.marking.on = false;
  return network;
}

RunResult result_of(const std::string& text, std::uint32_t cores = 1) {
  const auto scenario = read_scenario(text, "admission.toml", {});
  EXPECT_TRUE(scenario) << text_of(scenario.error()[0]);
  if (!scenario) return {};
  RunOptions options;
  options.cores = cores;
  auto result = run(*scenario, options);
  EXPECT_TRUE(result) << result.error();
  return result ? *std::move(result) : RunResult{};
}

std::string error_of(const std::string& text) {
  const auto scenario = read_scenario(text, "admission.toml", {});
  return scenario ? "" : text_of(scenario.error()[0]);
}

double microseconds_of_job(const RunResult& result, std::size_t job = 0) {
  EXPECT_TRUE(result.jobs.at(job).done) << result.jobs.at(job).trouble;
  return static_cast<double>((result.jobs[job].end - result.jobs[job].start).count()) / 1e6;
}

std::uint64_t longest_queue(const RunResult& result) {
  std::uint64_t most = 0;
  for (const LinkResult& link : result.links)
    most = std::max(most, std::uint64_t{link.most_queued});
  return most;
}

std::string incast(std::uint32_t senders, const std::string& nic) {
  return "[servers]\ncount = " + std::to_string(senders + 1) +
         "\ngpus = 1\n[fabric]\ntopology = \"star\"\nnic_rate = \"400 Gb/s\"\n"
         "[nic]\ncongestion = \"none\"\n" +
         nic + "[[job]]\nkind = \"incast\"\nsize = \"4 MB\"\n";
}

constexpr const char* kAdmission = "[nic.admission]\nlimit = \"2 MiB\"\n";

}  // namespace

TEST(Admission, ServesStreamsInTurnUpToTheLimit) {
  Admission admission{{.limit = 1000, .chunk = 300}};
  admission.ask(5, 0, 700);
  admission.ask(5, 1, 250);
  admission.ask(5, 2, 900);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> permitted;
  const auto take_all = [&] {
    while (const auto next = admission.next(5)) permitted.emplace_back(next->stream, next->bytes);
  };
  take_all();
  EXPECT_EQ(permitted, (decltype(permitted){{0, 300}, {1, 250}, {2, 300}}));
  EXPECT_EQ(admission.outstanding(5), 850U);
  admission.arrived(1, 250);
  take_all();
  EXPECT_EQ(permitted.back(), std::make_pair(0U, 300U));
  EXPECT_EQ(admission.outstanding(5), 900U);
  EXPECT_EQ(admission.most_outstanding(), 900U);
}

TEST(Admission, ABrokenStreamGivesBackWhatItWasPermitted) {
  Admission admission{{.limit = 300, .chunk = 300}};
  admission.ask(0, 0, 600);
  admission.ask(0, 1, 100);
  ASSERT_TRUE(admission.next(0));
  EXPECT_FALSE(admission.next(0));
  admission.forget(0);
  const auto next = admission.next(0);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->stream, 1U);
  EXPECT_FALSE(admission.next(0));
  EXPECT_EQ(admission.outstanding(0), 100U);
}

TEST(Admission, PermitsAheadToTheLastStreamWhileNobodyAsks) {
  Admission admission{{.limit = 400, .chunk = 100}};
  const auto next = [&] {
    const auto one = admission.next(0);
    return one ? std::make_pair(one->stream, one->bytes) : std::make_pair(99U, 0U);
  };
  admission.ask(0, 3, 50);
  EXPECT_EQ(next(), std::make_pair(3U, 50U));
  EXPECT_EQ(next(), std::make_pair(99U, 0U));  // nothing has arrived yet
  admission.arrived(3, 50);
  EXPECT_EQ(next(), std::make_pair(3U, 100U));
  EXPECT_EQ(next(), std::make_pair(99U, 0U));
  EXPECT_EQ(admission.outstanding(0), 0U);
  admission.ask(0, 3, 40);  // needs no further permission
  EXPECT_EQ(admission.outstanding(0), 40U);
  EXPECT_EQ(next(), std::make_pair(99U, 0U));
  admission.ask(0, 3, 40);
  EXPECT_EQ(next(), std::make_pair(3U, 80U));  // a chunk ahead again
  admission.ask(0, 4, 1000);
  EXPECT_EQ(next(), std::make_pair(4U, 100U));
  EXPECT_EQ(next(), std::make_pair(4U, 100U));
  EXPECT_EQ(next(), std::make_pair(99U, 0U));
}

TEST(Admission, WithALimitOfOneChunkPermitsNothingAhead) {
  Admission admission{{.limit = 100, .chunk = 100}};
  admission.ask(0, 0, 100);
  ASSERT_TRUE(admission.next(0));
  admission.arrived(0, 100);
  EXPECT_FALSE(admission.next(0));
}

// Senders that send what they are permitted, in any order of events: all arrives, and never is more
// on the way than the limit.
TEST(Admission, EverythingArrivesWithinTheLimit) {
  Prng prng{7};
  for (int world = 0; world < 100; ++world) {
    const auto chunk = static_cast<std::uint32_t>(prng.between(1, 100));
    const std::uint64_t limit = chunk + prng.below(300);
    Admission admission{{.limit = limit, .chunk = chunk}};
    std::array<std::uint64_t, 8> unsent{};
    std::array<std::uint64_t, 8> may_send{};
    std::array<std::uint64_t, 8> on_the_way{};
    const auto permit = [&](std::uint32_t receiver) {
      while (const auto next = admission.next(receiver)) {
        EXPECT_EQ(next->stream % 3, receiver);
        may_send[next->stream] += next->bytes;
      }
    };
    const auto send = [&](std::uint32_t stream) {
      const std::uint64_t bytes = std::min(unsent[stream], may_send[stream]);
      unsent[stream] -= bytes;
      may_send[stream] -= bytes;
      on_the_way[stream] += bytes;
    };
    const auto arrive = [&](std::uint32_t stream, std::uint64_t bytes) {
      if (bytes == 0) return;
      on_the_way[stream] -= bytes;
      admission.arrived(stream, bytes);
      permit(stream % 3);
    };
    for (int step = 0; step < 1000; ++step) {
      const auto stream = static_cast<std::uint32_t>(prng.below(8));
      switch (prng.below(4)) {
        case 0: {
          const std::uint64_t bytes = prng.below(200);
          unsent[stream] += bytes;
          admission.ask(stream % 3, stream, bytes);
          permit(stream % 3);
          break;
        }
        case 1:
          admission.forget(stream);
          unsent[stream] = may_send[stream] = on_the_way[stream] = 0;
          permit(stream % 3);
          break;
        case 2:
          send(stream);
          break;
        default:
          arrive(stream, prng.below(on_the_way[stream] + 1));
      }
      std::uint64_t sum = 0;
      for (std::uint32_t i = stream % 3; i < 8; i += 3) sum += on_the_way[i] + may_send[i];
      ASSERT_LE(sum, limit);
    }
    for (int round = 0; round < 10'000; ++round) {
      for (std::uint32_t stream = 0; stream < 8; ++stream) {
        send(stream);
        arrive(stream, on_the_way[stream]);
      }
    }
    EXPECT_EQ(unsent, (std::array<std::uint64_t, 8>{})) << "world " << world;
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(admission.outstanding(i), 0U);
  }
}

TEST(AdmissionInACluster, AMessageWaitsForOneClearToSendMessage) {
  const auto alone = [](std::uint64_t limit) {
    ClusterRig rig{star(2, {}), {without_control()}, admitting_hosts(2, limit, 524'288), 1};
    rig.send(0, 1, 64);
    rig.run();
    EXPECT_TRUE(rig.over);
    EXPECT_EQ(rig.cluster.admission(false).permissions(), limit > 0 ? 2U : 0U);
    return rig.microseconds(0);
  };
  // The clear-to-send message has 64 bytes too. Another permits a chunk ahead.
  EXPECT_NEAR(alone(2'097'152), 2 * alone(0), 0.01);
}

TEST(AdmissionInACluster, HasNoMoreOnTheWayThanAllowed) {
  constexpr std::uint64_t kLimit = 300'000;
  ClusterRig rig{star(9, {}), {without_control()}, admitting_hosts(9, kLimit, 100'000), 80};
  for (std::uint32_t i = 0; i < 80; ++i) rig.send(1 + i % 8, 0, i % 3 == 0 ? 5 : kMegabyte);
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_LE(rig.cluster.admission(false).most_outstanding(), kLimit);
  EXPECT_GT(rig.cluster.admission(false).most_outstanding(), kLimit - 100'000);
  EXPECT_EQ(rig.cluster.admission(false).outstanding(0), 0U);
}

TEST(AdmissionInACluster, EmptyMessagesNeedNoPermission) {
  ClusterRig rig{star(2, {}), {without_control()}, admitting_hosts(2, 100'000, 100'000), 3};
  rig.send(0, 1, 0);
  rig.send(0, 1, 250'000);
  rig.send(0, 1, 0);
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_LT(rig.microseconds(1), rig.microseconds(2));  // in order
}

TEST(AdmissionInACluster, ServesSendersInTurn) {
  ClusterRig rig{star(3, {}), {without_control()}, admitting_hosts(3, 200'000, 100'000), 3};
  rig.send(1, 0, 20 * kMegabyte);
  rig.send(1, 0, kMegabyte);
  rig.send(2, 0, kMegabyte);
  rig.run();
  ASSERT_TRUE(rig.over);
  EXPECT_LT(rig.microseconds(2), 200);    // half of the rate until it has arrived: 168 us
  EXPECT_GT(rig.microseconds(1), 1'600);  // after the message before it
}

TEST(AdmissionInACluster, LanesAndBothDirectionsAndConnectionsOfTheirOwn) {
  ClusterConfig config = admitting_hosts(4, 300'000, 100'000);
  config.back_end.lanes = 3;
  config.back_end.queue_depth = 2;
  CheckedMemory memory;
  SimulatedNetwork network = without_control();
  network.nics.payload = &memory;
  ClusterRig rig{star(4, {}), {network}, config, 120};
  Prng prng{3};
  for (std::uint32_t i = 0; i < 120; ++i) {
    const auto from = static_cast<std::uint32_t>(prng.below(4));
    const auto to = static_cast<std::uint32_t>((from + prng.between(1, 3)) % 4);
    rig.cluster.send(
        {PlaceId{from}, PlaceId{to}, prng.between(1, 700'000), false, {0, 0, i}, prng.chance(300)});
  }
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_GT(memory.checked(), 10 * kMegabyte);
  EXPECT_EQ(memory.wrong(), 0U);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rig.cluster.admission(false).outstanding(i), 0U);
  }
}

TEST(AdmissionInACluster, ADeadSenderDoesNotKeepItsPermission) {
  SimulatedNetwork network = without_control();
  network.nics.timeout = 4;  // 65 us
  network.nics.retries = 2;
  ClusterRig rig{star(3, {}), {network}, admitting_hosts(3, 200'000, 100'000), 2};
  const std::vector<FaultSpec> specs{
      {.at = microseconds{30}, .kind = FaultKind::kDown, .from = "nic1", .to = "switch"}};
  auto faults = Faults::find(rig.world.fabric().graph(), specs);
  ASSERT_TRUE(faults) << faults.error();
  rig.world.schedule(*std::move(faults));
  test::RecordingJob other{1};
  other.use(rig.cluster);
  const std::uint32_t number = rig.cluster.add(other, {});
  rig.send(1, 0, 10 * kMegabyte);
  rig.cluster.send({PlaceId{2}, PlaceId{0}, 10 * kMegabyte, false, {number, 0, 0}});
  rig.run();
  EXPECT_EQ(rig.job.failed_messages().size(), 1U);
  EXPECT_TRUE(other.done());
  EXPECT_EQ(rig.cluster.admission(false).outstanding(0), 0U);
}

TEST(AdmissionOfARun, BoundsTheQueueOfAnIncast) {
  const RunResult without = result_of(incast(64, ""));
  const RunResult with = result_of(incast(64, kAdmission));
  EXPECT_GT(without.totals.pauses, 0U);
  EXPECT_GT(longest_queue(without), 8 * kMegabyte);
  EXPECT_EQ(with.totals.pauses, 0U);
  // With headers, a packet takes 2 % more.
  EXPECT_LE(longest_queue(with), 2'097'152U * 103 / 100);
  EXPECT_NEAR(microseconds_of_job(with) / microseconds_of_job(without), 1, 0.03);
}

TEST(AdmissionOfARun, HardlyDelaysARing) {
  const std::string ring =
      "[servers]\ncount = 16\ngpus = 1\n[fabric]\ntopology = \"leaf-spine\"\n"
      "nic_rate = \"400 Gb/s\"\nnics_per_leaf = 4\n[[job]]\nkind = \"all-reduce\"\n"
      "algorithm = \"ring\"\nsize = \"64 MB\"\n[nic]\ncongestion = \"none\"\n";
  const double without = microseconds_of_job(result_of(ring));
  const double with = microseconds_of_job(result_of(ring + kAdmission));
  EXPECT_GT(with, without);
  EXPECT_LT(with, without * 1.01);
}

TEST(AdmissionOfARun, KeepsContents) {
  for (const char* const lossy : {"", "pfc = false\n[fabric.buffer]\nsize = \"1 MB\"\n"}) {
    std::string text = incast(8, "check_payload = true\n" + std::string{kAdmission});
    text.insert(text.find("[nic]"), lossy);
    const RunResult result = result_of(text);
    EXPECT_GT(microseconds_of_job(result), 0);
    const auto is_checked = [](const std::string& one) {
      return one.ends_with("bytes of payload checked, 0 wrong");
    };
    EXPECT_TRUE(std::ranges::any_of(result.remarks, is_checked));
  }
}

TEST(AdmissionOfARun, SurvivesACableThatFails) {
  const std::string text =
      "[servers]\ncount = 8\ngpus = 1\n[fabric]\ntopology = \"leaf-spine\"\n"
      "nic_rate = \"100 Gb/s\"\nnics_per_leaf = 4\nspines = 2\n[nic]\ntimeout = \"200 us\"\n" +
      std::string{kAdmission} +
      "[[job]]\nkind = \"all-to-all\"\nsize = \"16 MB\"\n[[fault]]\nat = \"300 us\"\n"
      "kind = \"down\"\nfrom = \"leaf0\"\nto = \"spine1\"\nreroute = \"100 us\"\n";
  const RunResult result = result_of(text);
  EXPECT_GT(result.totals.lost + result.totals.dropped, 0U);
  EXPECT_GT(microseconds_of_job(result), 0);
  for (const std::uint32_t cores : {2U, 3U}) {
    EXPECT_EQ(hash_of(result_of(text, cores)), hash_of(result)) << cores << " cores";
  }
}

// Messages to another rail are relayed slice by slice; those to a server's disk wait for it.
TEST(AdmissionOfARun, WorksWithEveryKindOfJob) {
  const std::string cluster =
      "[servers]\ncount = 4\ngpus = 4\n[fabric]\ntopology = \"rail-only\"\n"
      "nic_rate = \"100 Gb/s\"\n[front_end]\nnic_rate = \"100 Gb/s\"\n[front_end.nic]\n"
      "transport = \"rdma\"\n[front_end.nic.admission]\nlimit = \"1 MB\"\nchunk = \"100 KB\"\n"
      "[storage]\nservers = 2\nrate = \"50 Gb/s\"\n"
      "[nic.admission]\nlimit = \"1 MB\"\nchunk = \"100 KB\"\n";
  for (const char* const job :
       {"kind = \"permutation\"\nsize = \"1 MB\"\n", "kind = \"all-to-all\"\nsize = \"4 MB\"\n",
        "kind = \"all-reduce\"\nsize = \"4 MB\"\n",
        "kind = \"all-reduce\"\nalgorithm = \"tree\"\nsize = \"4 MB\"\n",
        "kind = \"broadcast\"\nsize = \"4 MB\"\nchunks = 4\n",
        "kind = \"checkpoint\"\nsize = \"4 MB\"\n",
        "kind = \"random\"\nsize = \"200 KB\"\nload = 0.5\nrequests = 200\nqps = \"per-flow\"\n",
        "kind = \"kv-cache\"\nsize = \"200 KB\"\nload = 0.5\nrequests = 200\n"}) {
    const RunResult result = result_of(cluster + "[[job]]\n" + job);
    EXPECT_TRUE(result.jobs.at(0).done) << job << result.jobs.at(0).trouble;
    EXPECT_FALSE(result.remarks.empty());
    EXPECT_TRUE(std::ranges::any_of(result.remarks, [](const std::string& one) {
      return one.find("clear-to-send") != std::string::npos;
    })) << job;
  }
}

TEST(AdmissionOfARun, FlowsSayThatTheyDoNotWait) {
  const RunResult result = result_of("fidelity = \"flow\"\n" + incast(4, kAdmission));
  EXPECT_TRUE(result.jobs.at(0).done);
  EXPECT_TRUE(std::ranges::count(result.remarks,
                                 "doubtful: flows do not wait for clear-to-send messages") == 1);
}

TEST(AdmissionOfARun, RefusesWhatMakesNoSense) {
  EXPECT_EQ(error_of(incast(4, "[nic.admission]\nlimit = \"100 KB\"\n")),
            "admission.toml:10: nic.admission.limit: 100 KB is less than a chunk, 512 KiB; set "
            "chunk to 100 KB or less");
  EXPECT_EQ(error_of(incast(4, "").replace(incast(4, "").find("congestion = \"none\""), 19,
                                           "transport = \"tcp\"\nadmission.limit = \"1 MB\"")),
            "admission.toml:9: nic.admission.limit: admission is for transport = \"rdma\"; leave "
            "it out");
}

}  // namespace nerve::sim::admission_test
