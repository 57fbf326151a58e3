// Goal: the results of stock programs are parsed. Method: their real output.
#include "cli/client_output.h"

#include <gtest/gtest.h>

#include "cli/demo_plan.h"

namespace nerve::cli {

TEST(ClientOutput, PerftestLatencyIsTheTypicalOne) {
  EXPECT_EQ(perftest_latency(" Data ex. method : Ethernet\n"
                             " remote address: LID 0000 QPN 0x0011 PSN 0x26c3\n"
                             "----\n"
                             " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]  "
                             "  t_avg[usec]    t_stdev[usec]   99% percentile[usec]\n"
                             " 8       1000          0.94           12.68      0.96     \t       "
                             "1.02       \t0.49 \t\t2.91 \t\t8.62\n"
                             "----\n"),
            0.96);
  EXPECT_EQ(perftest_latency("Couldn't connect to 127.0.0.1:18515\n"), std::nullopt);
  EXPECT_EQ(perftest_latency("42 0 0 0 7\n"), std::nullopt) << "no title above it";
}

TEST(ClientOutput, PerftestBandwidthIsTheAverage) {
  const auto found = perftest_bandwidth(
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      2000             90.70            64.17\t\t   0.102867\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->gigabits, 64.17);
  EXPECT_EQ(found->messages, 0.102867);
  EXPECT_FALSE(perftest_bandwidth(" #bytes #iterations BW peak[Gb/sec]\n"));
}

TEST(ClientOutput, ReadsQperfInAnyUnit) {
  EXPECT_EQ(qperf_latency("tcp_lat:\n    latency  =  9.5 us\n"), 9.5);
  EXPECT_EQ(qperf_latency("tcp_lat:\n    latency  =  2 ms\n"), 2000);
  EXPECT_EQ(qperf_latency("tcp_lat:\n    latency  =  500 ns\n"), 0.5);
  EXPECT_EQ(qperf_latency("failed to connect"), std::nullopt);
  EXPECT_EQ(qperf_latency("latency = soon"), std::nullopt);
}

TEST(ClientOutput, ReadsIperf3Json) {
  EXPECT_EQ(iperf3_bandwidth(R"({"end": {"sum_received": {"bits_per_second": 8e9}}})"), 8);
  EXPECT_EQ(iperf3_bandwidth(R"({"error": "unable to connect"})"), std::nullopt);
  EXPECT_EQ(iperf3_bandwidth("iperf3: error"), std::nullopt);
  EXPECT_EQ(iperf3_bandwidth("[]"), std::nullopt);
}

TEST(ClientOutput, ReadsUcxCsv) {
  const auto found = ucx_figures(
      "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
      "5000,52.198,1308.487,1826.930,764.24,1000,764,547\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->latency, 52.198);
  EXPECT_DOUBLE_EQ(found->gigabytes, 1.048576);
  EXPECT_FALSE(ucx_figures("[1700] perftest.c:899 UCX ERROR connect() failed\n"));
  EXPECT_FALSE(ucx_figures(""));
}

TEST(ClientOutput, ReadsFabricBelowItsTitle) {
  const auto found = fabric_figures(
      "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
      "1m      500     =500     1000m       5.41s    193.74    5412.34       0.00\n");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->latency, 5412.34);
  EXPECT_EQ(found->gigabytes, 0.19374);
  EXPECT_FALSE(fabric_figures("fi_getinfo: -61\n"));
  EXPECT_FALSE(fabric_figures("bytes   #sent  usec/xfer")) << "it died before its figures";
}

TEST(ClientOutput, ComplaintIsTheLineThatReportsAnError) {
  EXPECT_EQ(
      complaint(" Completion with error at client\n Failed status 12: wr_id 0\n----\n #bytes\n"),
      "Completion with error at client");
  EXPECT_EQ(complaint("one\ntwo\n-----\n \n"), "two");
  EXPECT_EQ(complaint(""), "");
}

TEST(Demo, PrintsFiguresInTheirUnits) {
  EXPECT_EQ(figure_text(Figure::kLatency, 0.614), "0.61 us");
  EXPECT_EQ(figure_text(Figure::kTcpBandwidth, 9.87), "9.9 GB/s");
  EXPECT_EQ(figure_text(Figure::kMessages, 5.04), "5.0 M/s");
}

}  // namespace nerve::cli
