// Goal: the summary line at exit is right. Method: the text from values, and a process that sends
// to itself and exits.
#include "host/diagnostics/summary.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "host/diagnostics/amounts.h"
#include "tests/host/endpoint.h"

namespace nerve::host {

TEST(Amounts, HaveTwoSignificantDigitsAndAUnit) {
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1.0 KB");
  EXPECT_EQ(bytes_text(9'949), "9.9 KB");
  EXPECT_EQ(bytes_text(12'345), "12 KB");
  EXPECT_EQ(bytes_text(999'999), "1.0 MB");  // not 1000 KB
  EXPECT_EQ(bytes_text(1'234'567'890), "1.2 GB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "18 EB");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(64), "64");
  EXPECT_EQ(count_text(312'000), "312 k");
}

TEST(Summary, ListsTransportsBytesAndCopies) {
  Summary summary{.pid = 123, .program = "ib_write_bw", .shm = {}, .udp = {}, .direct = {}};
  EXPECT_EQ(summary_line(summary),
            "pid 123 ib_write_bw: shm 0, udp 0, direct 0, received 0, 0 retransmitted");
  summary.shm = {.bytes = 1'200'000'000, .packets = 312'000};
  summary.udp = {.bytes = 0, .packets = 3};  // acknowledgements
  summary.direct = {.bytes = 8000, .packets = 1000};
  summary.retransmitted = 2;
  EXPECT_EQ(summary_line(summary),
            "pid 123 ib_write_bw: shm 1.2 GB (312 k packets, 2 copies per byte), "
            "udp 0 (3 packets), direct 8.0 KB (1.0 k placed, 1 copy per byte), "
            "received 0, 2 retransmitted");
}

TEST(SummaryDeathTest, IsPrintedAtTheEndOnRequestWhenTheDevicesAreClosed) {
  const auto send_to_itself = [](const char* wanted) {
    ::setenv("NERVE_SUMMARY", wanted, 1);
    ::setenv("NERVE_TRANSPORT", "shm", 1);
    {
      test::Endpoint endpoint{4096};
      endpoint.connect(endpoint.card());
      (void)endpoint.post_send(nic::SendOp::kWrite, 1, 0, 2000, 2000);
      (void)endpoint.next();
    }
    std::exit(0);  // NOLINT(concurrency-mt-unsafe)
  };
  EXPECT_EXIT(send_to_itself("on"), testing::ExitedWithCode(0),
              "^nerve: pid [0-9]+ nerve_test_host: shm 2.0 KB .* received 2.0 KB, 0 retransmitted");
  EXPECT_EXIT(send_to_itself("off"), testing::ExitedWithCode(0), "^$");
}

}  // namespace nerve::host
