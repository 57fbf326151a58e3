// What agents and the controller write is read again as it was, and anything else is refused with a
// sentence that names the field.
#include "controller/messages.h"

#include <gtest/gtest.h>

namespace nerve::controller {
namespace {

Report some_report() {
  const auto here = wire::Gid::ipv4(10, 0, 0, 1);
  const auto there = wire::Gid::ipv4(10, 0, 1, 1);
  wire::Gid v6{};
  v6.bytes[0] = std::byte{0xfd};
  v6.bytes[15] = std::byte{7};
  return {.host = "node-1",
          .flows = {{.qpn = Qpn{0x3a087a},
                     .peer = Qpn{0xffffff},
                     .source = here,
                     .destination = there,
                     .port = 49415,
                     .traffic_class = 106,
                     .bytes = ~std::uint64_t{},
                     .retransmitted = 3},
                    {.qpn = Qpn{1}, .source = v6, .destination = v6, .port = 50000}},
          .paths = {{.source = here,
                     .destination = there,
                     .port = 0xc000,
                     .hops = {wire::Gid::ipv4(10, 1, 0, 1), wire::Gid{}, there},
                     .lost = true}}};
}

Orders some_orders() {
  return {.probes = {{.source = wire::Gid::ipv4(10, 0, 0, 1),
                      .destination = wire::Gid::ipv4(10, 0, 1, 1),
                      .ports = {0xc000, 0xffff}}},
          .flows = {{.qpn = Qpn{7}, .peer = Qpn{8}, .port = 50211, .rate_limit = 10'000'000'000},
                    {.qpn = Qpn{9}}}};
}

// The text of a report with one piece replaced.
std::string changed(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string why(const Result<Report, std::string>& result) {
  return result ? "accepted" : result.error();
}
std::string why(const Result<Orders, std::string>& result) {
  return result ? "accepted" : result.error();
}

TEST(Messages, AReportIsReadAsItWasWritten) {
  for (const Report& report : {Report{}, some_report()}) {
    const auto read = read_report(to_text(report));
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, report);
  }
}

TEST(Messages, OrdersAreReadAsTheyWereWritten) {
  for (const Orders& orders : {Orders{}, some_orders()}) {
    const auto read = read_orders(to_text(orders));
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, orders);
  }
}

TEST(Messages, EveryTruncationIsRefused) {
  const std::string report = to_text(some_report());
  for (std::size_t size = 0; size < report.size(); ++size) {
    EXPECT_EQ(why(read_report(report.substr(0, size))), "the message is not JSON") << size;
  }
  const std::string orders = to_text(some_orders());
  for (std::size_t size = 0; size < orders.size(); ++size) {
    EXPECT_EQ(why(read_orders(orders.substr(0, size))), "the message is not JSON") << size;
  }
}

TEST(Messages, UnknownKeysAreIgnored) {
  const auto read =
      read_report(changed(to_text(some_report()), R"("lost":)", R"("x":[{}],"lost":)"));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(*read, some_report());
}

TEST(Messages, ErrorsOfAReportNameTheField) {
  struct Case {
    const char* from;
    const char* to;
    const char* error;
  };
  constexpr Case kCases[] = {
      {R"("qpn":3803258)", R"("qpn":16777216)",
       "flows[0].qpn is 16777216; a number from 0 to 16777215 is wanted"},
      {R"("qpn":1,)", R"("qpn":-1,)", "flows[1].qpn is -1; a number from 0 to 16777215 is wanted"},
      {R"("qpn":1,)", R"("qpn":1.5,)",
       "flows[1].qpn is 1.5; a number from 0 to 16777215 is wanted"},
      {R"("qpn":1,)", "", "flows[1].qpn is missing"},
      {R"("port":49415)", R"("port":65536)",
       "flows[0].port is 65536; a number from 0 to 65535 is wanted"},
      {R"("traffic_class":106)", R"("traffic_class":256)",
       "flows[0].traffic_class is 256; a number from 0 to 255 is wanted"},
      {R"("bytes":18446744073709551615)", R"("bytes":18446744073709551616)",
       "flows[0].bytes is 1.8446744073709552e+19; a number from 0 to 18446744073709551615 is "
       "wanted"},
      {R"("source":"10.0.0.1")", R"("source":"node-1")",
       R"(flows[0].source is "node-1"; an IP address is wanted)"},
      {R"("source":"10.0.0.1")", R"("source":"224.0.0.1")",
       R"(flows[0].source is "224.0.0.1"; the address of a host is wanted)"},
      {R"("source":"10.0.0.1")", R"("source":"::")",
       R"(flows[0].source is "::"; the address of a host is wanted)"},
      {R"("source":"10.0.0.1")", R"("source":17)",
       "flows[0].source is 17; an IP address is wanted"},
      {R"("lost":true)", R"("lost":1)", "paths[0].lost is 1; true or false is wanted"},
      {R"("hops":["10.1.0.1")", R"("hops":["10.1.0")",
       R"(paths[0].hops is "10.1.0"; an IP address is wanted)"},
      {R"("hops":[)", R"("hops":["::","::","::","::","::","::","::","::","::","::","::","::","::",
        "::",)",
       "paths[0].hops has 17 entries; the limit is 16"},
      {R"("host":"node-1")", R"("host":"node\n1")",
       R"(host is "node\n1"; at most 255 printable characters are wanted)"},
      {R"("host":"node-1")", R"("host":{})",
       "host is an object; at most 255 printable characters are wanted"},
  };
  const std::string good = to_text(some_report());
  for (const Case& one : kCases) {
    EXPECT_EQ(why(read_report(changed(good, one.from, one.to))), one.error);
  }
  EXPECT_EQ(why(read_report("[]")), "the message is a list");
  EXPECT_EQ(why(read_report("{}")), "host is missing");
  EXPECT_EQ(why(read_report(R"({"host":"","flows":{},"paths":[]})")),
            "flows is an object; a list is wanted");
  EXPECT_EQ(why(read_report(R"({"host":"","flows":[1],"paths":[]})")),
            "flows[0] is 1; an object is wanted");
}

TEST(Messages, ErrorsOfOrdersNameTheField) {
  const std::string good = to_text(some_orders());
  EXPECT_EQ(why(read_orders(changed(good, "50211", "49151"))),
            "flows[0].port is 49151; source ports begin at 49152");
  EXPECT_EQ(why(read_orders(changed(good, "[49152", "[0"))),
            "probes[0].ports is 0; a number from 49152 to 65535 is wanted");
  std::string many = "[50000";
  for (std::size_t i = 0; i < kMaxProbePorts; ++i) many += ",50000";
  EXPECT_EQ(why(read_orders(changed(good, "[49152", many))),
            "probes[0].ports has 258 entries; the limit is 256");
}

TEST(Messages, ManyBracketsAreRefusedWithoutBuildingThem) {
  constexpr std::string_view kWhy = "the message has more than 4000000 values, or is 9 levels deep";
  EXPECT_EQ(why(read_report(std::string(16U << 20U, '['))), kWhy);
  std::string wide = "[{}";
  for (int i = 0; i < 4'500'000; ++i) wide += ",{}";
  EXPECT_EQ(why(read_report(wide + "]")), kWhy);
}

TEST(Messages, AHostNameOfAnyBytesCanBeWritten) {
  Report report;
  report.host = "\xff\xfe";
  EXPECT_EQ(why(read_report(to_text(report))).substr(0, 8), "host is ");
}

}  // namespace
}  // namespace nerve::controller
