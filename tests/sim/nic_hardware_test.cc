// Goal: the model of a NIC's hardware limits packet rates, misses in caches cost what they should,
// receive buffers that fill up pause or drop, and NICs behind one PCIe switch share it. Method: the
// model alone, then small scenarios whose time can be calculated.
#include "sim/host/nic_hardware.h"

#include <gtest/gtest.h>

#include "sim/run.h"
#include "sim/scenario/scenario_file.h"

namespace nerve::sim::nic_hardware_test {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr Rate kLine = Rate::gigabits(400);

NicHardware::Work packet_of(std::uint32_t qp, std::uint32_t payload = 0,
                            std::uint64_t address = 0) {
  return {.qp = Qpn{qp}, .address = address, .payload = payload, .bytes = payload + 82};
}

// Sends one small packet of each QP in turn, as fast as the NIC takes them. Returns the time.
Duration send_in_turn(NicHardware& nic, std::uint32_t qps, std::uint32_t rounds) {
  Time last{};
  for (std::uint32_t i = 0; i < rounds * qps; ++i) {
    last = nic.send(packet_of(i % qps), nic.takes_next());
  }
  return last - Time{};
}

RunResult run_text(const std::string& text, std::uint32_t cores = 1) {
  const auto scenario = read_scenario(text, "hardware.toml", {});
  EXPECT_TRUE(scenario) << text_of(scenario.error()[0]);
  if (!scenario) return {};
  RunOptions options;
  options.cores = cores;
  auto result = run(*scenario, options);
  EXPECT_TRUE(result) << result.error();
  return result ? std::move(*result) : RunResult{};
}

double microseconds_of(const RunResult& result) {
  const JobResult& job = result.jobs.at(0);
  EXPECT_TRUE(job.done) << job.trouble;
  return static_cast<double>((job.end - job.start).count()) / 1e6;
}

// Two servers whose NICs are at one switch.
std::string pair_of_servers(const std::string& servers, const std::string& nic,
                            const std::string& job, const std::string& fabric = "") {
  return "[servers]\ncount = 2\n" + servers +
         "[fabric]\ntopology = \"star\"\nnic_rate = \"400 Gb/s\"\n" + fabric +
         "[nic]\ncongestion = \"none\"\n" + nic + "[[job]]\n" + job;
}

bool has_remark(const RunResult& result, std::string_view part) {
  return std::ranges::any_of(
      result.remarks, [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

}  // namespace

TEST(NicCache, ReplacesTheLeastRecentlyUsed) {
  NicCache cache{8};  // one set
  Time ready{};
  for (std::uint64_t key = 0; key < 8; ++key) {
    EXPECT_FALSE(cache.finds(key, ready));
    cache.fetched(key, Time{nanoseconds{key}});
  }
  EXPECT_TRUE(cache.finds(0, ready));
  EXPECT_FALSE(cache.finds(8, ready));
  cache.fetched(8, Time{});
  EXPECT_TRUE(cache.finds(0, ready));
  EXPECT_FALSE(cache.finds(1, ready));
  EXPECT_EQ(cache.misses(), 10U);
  EXPECT_EQ(cache.lookups(), 12U);
}

TEST(NicCache, AnEntryThatIsBeingFetchedIsReadyLater) {
  NicCache cache{8};
  Time ready{};
  EXPECT_FALSE(cache.finds(3, ready));
  cache.fetched(3, Time{microseconds{1}});
  EXPECT_TRUE(cache.finds(3, ready));
  EXPECT_EQ(ready, Time{microseconds{1}});
}

TEST(NicCache, OfSizeZeroHoldsEverything) {
  NicCache cache{0};
  Time ready{};
  for (std::uint64_t key = 0; key < 100'000; ++key) EXPECT_TRUE(cache.finds(key, ready));
  EXPECT_EQ(cache.misses(), 0U);
}

TEST(NicHardware, PacketsTakeTheirTime) {
  NicHardwareSpec spec = kFastestNic;
  spec.per_packet = nanoseconds{50};
  NicHardware nic{spec, kLine, nullptr};
  EXPECT_EQ(send_in_turn(nic, 1, 1000), nanoseconds{50'000});
}

TEST(NicHardware, ContextsThatFitAreFetchedOnce) {
  NicHardwareSpec spec = kFastestNic;
  spec.per_packet = nanoseconds{50};
  spec.dma_read = nanoseconds{800};
  spec.cached_qps = 1024;
  NicHardware nic{spec, kLine, nullptr};
  (void)send_in_turn(nic, 256, 100);
  EXPECT_EQ(nic.contexts().misses(), 256U);
}

TEST(NicHardware, ContextsThatDoNotFitCostAFetchEach) {
  NicHardwareSpec spec = kFastestNic;
  spec.per_packet = nanoseconds{5};
  spec.dma_read = nanoseconds{800};
  spec.cached_qps = 64;
  spec.fetches = 8;
  NicHardware nic{spec, kLine, nullptr};
  const Duration took = send_in_turn(nic, 1024, 10);
  EXPECT_EQ(nic.contexts().misses(), nic.contexts().lookups());
  const double each = static_cast<double>(took.count()) / 1e3 / (1024 * 10);
  EXPECT_NEAR(each, 800.0 / 8, 1);  // eight at once
}

TEST(NicHardware, PacketsOfOneDirectionStayInOrder) {
  NicHardwareSpec spec = kFastestNic;
  spec.dma_read = nanoseconds{800};
  spec.cached_qps = 8;
  NicHardware nic{spec, kLine, nullptr};
  Time last{};
  for (const std::uint32_t qp : {1U, 2U, 1U, 1U, 3U, 2U}) {
    const Time sent = nic.send(packet_of(qp), nic.takes_next());
    EXPECT_GE(sent, last);
    last = sent;
  }
}

TEST(NicHardware, APageIsLookedUpForPayloadOnly) {
  NicHardwareSpec spec = kFastestNic;
  spec.cached_pages = 64;
  NicHardware nic{spec, kLine, nullptr};
  (void)nic.receive(packet_of(1), Time{});
  EXPECT_EQ(nic.pages().lookups(), 0U);
  for (std::uint64_t at = 0; at < spec.page * 4; at += 4096) {
    (void)nic.receive(packet_of(1, 4096, at), Time{});
  }
  EXPECT_EQ(nic.pages().misses(), 4U);
}

TEST(NicHardware, TheReceiveBufferPausesAtHalfAndRefusesWhenFull) {
  NicHardwareSpec spec = kFastestNic;
  spec.receive_buffer = 65'536;
  NicHardware nic{spec, kLine, nullptr};
  EXPECT_TRUE(nic.admit(32'768));
  EXPECT_FALSE(nic.begins_pause());
  EXPECT_TRUE(nic.admit(4096));
  EXPECT_TRUE(nic.begins_pause());
  EXPECT_FALSE(nic.begins_pause());  // once
  EXPECT_TRUE(nic.admit(65'536 - 32'768 - 4096));
  EXPECT_FALSE(nic.admit(1));
  nic.release(49'152);
  EXPECT_TRUE(nic.ends_pause());
  EXPECT_FALSE(nic.ends_pause());
}

TEST(NicHardware, TwoNicsShareAPcieLinkEvenly) {
  PcieLink link{.rate = kLine};
  NicHardware one{kFastestNic, kLine, &link};
  NicHardware two{kFastestNic, kLine, &link};
  std::uint32_t sent_by_one = 0;
  constexpr std::uint32_t kPackets = 1000;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    const bool first = one.takes_next() <= two.takes_next();
    NicHardware& next = first ? one : two;
    (void)next.send(packet_of(1, 4096), next.takes_next());
    sent_by_one += first ? 1 : 0;
  }
  EXPECT_NEAR(sent_by_one, kPackets / 2, 1);
  EXPECT_GE(link.reads_until, Time{} + kLine.time_to_send(4096 * kPackets));
}

TEST(NicHardwareScenario, APacketOfPayloadTakesADmaReadLonger) {
  const std::string job = "kind = \"shift\"\nshift = 1\nsize = \"1 KB\"\n";
  const double without = microseconds_of(run_text(pair_of_servers("gpus = 1\n", "", job)));
  const double with = microseconds_of(run_text(
      pair_of_servers("gpus = 1\n",
                      "[nic.hardware]\nmodelled = true\nper_packet = \"5 ns\"\nper_wqe = \"7 ns\"\n"
                      "dma_read = \"800 ns\"\ncached_qps = 0\ncached_pages = 0\n",
                      job)));
  // The packet is sent and received.
  EXPECT_NEAR(with - without, 0.800 + 0.007 + 2 * 0.005, 0.001);
}

TEST(NicHardwareScenario, TheTimePerPacketLimitsTheRate) {
  const RunResult result = run_text(pair_of_servers(
      "gpus = 1\n", "mtu = 1024\n[nic.hardware]\nmodelled = true\nper_packet = \"100 ns\"\n",
      "kind = \"shift\"\nshift = 1\nsize = \"1024 KB\"\n"));
  // A thousand packets, and ACKs of the other direction.
  EXPECT_GE(microseconds_of(result), 100);
  EXPECT_LE(microseconds_of(result), 120);
}

TEST(NicHardwareScenario, ASlowReceiverPausesItsSwitchAndNothingIsLost) {
  const std::string nic =
      "mtu = 1024\n[nic.hardware]\nmodelled = true\nper_packet = \"100 ns\"\n"
      "receive_buffer = \"64 KiB\"\n";
  const RunResult result = run_text(
      "[servers]\ncount = 5\ngpus = 1\n[fabric]\ntopology = \"star\"\nnic_rate = \"400 Gb/s\"\n"
      "[nic]\ncongestion = \"none\"\n" +
      nic + "[[job]]\nkind = \"incast\"\nsize = \"1 MB\"\n");
  (void)microseconds_of(result);
  EXPECT_GT(result.totals.pauses, 0U);
  EXPECT_EQ(result.totals.dropped, 0U);
}

TEST(NicHardwareScenario, WithoutPfcASlowReceiverDropsAndTheRestIsRepeated) {
  const RunResult result = run_text(
      "[servers]\ncount = 5\ngpus = 1\n[fabric]\ntopology = \"star\"\nnic_rate = \"400 Gb/s\"\n"
      "pfc = false\n[nic]\ncongestion = \"none\"\nrecovery = \"selective-repeat\"\nmtu = 1024\n"
      "[nic.hardware]\nmodelled = true\nper_packet = \"100 ns\"\nreceive_buffer = \"64 KiB\"\n"
      "[[job]]\nkind = \"incast\"\nsize = \"1 MB\"\n");
  (void)microseconds_of(result);
  EXPECT_GT(result.totals.dropped, 0U);
}

TEST(NicHardwareScenario, OnInfiniBandCreditsHoldTheSwitchBack) {
  const RunResult result = run_text(
      "[servers]\ncount = 5\ngpus = 1\n[fabric]\ntopology = \"star\"\nnic_rate = \"400 Gb/s\"\n"
      "link = \"infiniband\"\n[nic]\nmtu = 1024\n"
      "[nic.hardware]\nmodelled = true\nper_packet = \"100 ns\"\nreceive_buffer = \"64 KiB\"\n"
      "[[job]]\nkind = \"incast\"\nsize = \"1 MB\"\n");
  EXPECT_GE(microseconds_of(result), 4 * 97.7);  // packets of 1 024 bytes
  EXPECT_EQ(result.totals.dropped, 0U);
}

TEST(NicHardwareScenario, MoreQpsThanTheCacheHoldsSlowSmallMessagesDown) {
  const std::string job = "kind = \"random\"\nload = 0.9\nsize = \"512 B\"\nrequests = 20000\n";
  const auto scenario = [&](const std::string& cached) {
    return "[servers]\ncount = 32\ngpus = 1\n[fabric]\ntopology = \"star\"\n"
           "nic_rate = \"100 Gb/s\"\n[nic]\ncongestion = \"none\"\nqps_per_pair = 4\n"
           "[nic.hardware]\nmodelled = true\nfetches = 2\ncached_qps = " +
           cached + "\n[[job]]\n" + job;
  };
  const RunResult fits = run_text(scenario("1024"));
  const RunResult misses = run_text(scenario("16"));
  EXPECT_GT(microseconds_of(misses), 2 * microseconds_of(fits));
  EXPECT_TRUE(has_remark(misses, "did not hold the QP context"));
}

TEST(NicHardwareScenario, NicsBehindOnePcieSwitchShareItsLink) {
  const std::string job = "kind = \"shift\"\nshift = 2\nsize = \"4 MB\"\n";
  const std::string pcie = "gpus = 2\npcie = \"400 Gb/s\"\n";
  const double alone = microseconds_of(run_text(pair_of_servers(pcie, "", job)));
  const RunResult shared = run_text(pair_of_servers(pcie + "nics_per_pcie = 2\n", "", job), 2);
  EXPECT_NEAR(microseconds_of(shared) / alone, 2, 0.1);
  EXPECT_TRUE(has_remark(shared, "each 2 NICs of 400 Gb/s share a PCIe link of 400"));
}

TEST(NicHardwareScenario, GroupsBehindPcieSwitchesMustFit) {
  const auto refused = [](const std::string& servers) {
    const auto scenario = read_scenario(
        "[servers]\ncount = 2\n" + servers + "[[job]]\nkind = \"all-reduce\"\nsize = \"1 MB\"\n",
        "x.toml", {});
    return scenario ? std::string{"accepted"} : text_of(scenario.error()[0]);
  };
  EXPECT_EQ(refused("nics_per_pcie = 3\n"),
            "x.toml:3: servers.nics_per_pcie: 8 NICs cannot be divided into groups of 3");
  EXPECT_EQ(refused("nics_per_pcie = 2\npcie = 0\n"),
            "x.toml:3: servers.nics_per_pcie: NICs share a PCIe link, but pcie = 0 says that it "
            "has no limit");
}

}  // namespace nerve::sim::nic_hardware_test
