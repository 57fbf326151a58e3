#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "controller/event_text.h"
#include "controller/settings_file.h"

namespace nerve::controller {
namespace {

std::string why(std::string_view text) {
  const auto settings = read_settings(text, "x.toml");
  return settings ? "accepted" : settings.error();
}

TEST(ControllerSettings, AllKeysAreRead) {
  const auto settings = read_settings(R"(
nic_rate = "400 Gb/s"
[[link]]
between = ["10.1.0.2", "fd00::1"]
rate = "2.5 Gb/s"
[[class]]
traffic_class = 106
rate_limit = "10 Mb/s"
[[class]]
traffic_class = 0
rate_limit = "1Tb/s"
)",
                                      "x.toml");
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->nic_rate, Rate::gigabits(400));
  ASSERT_EQ(settings->links.size(), 1U);
  EXPECT_EQ(settings->links[0].rate, Rate::megabits(2500));
  EXPECT_EQ(settings->links[0].between.from, wire::Gid::ipv4(10, 1, 0, 2));
  EXPECT_EQ(settings->rate_limits,
            (std::map<std::uint8_t, std::uint64_t>{{0, 1'000'000'000'000}, {106, 10'000'000}}));
}

TEST(ControllerSettings, AnEmptyFileIsEnough) { EXPECT_EQ(why(""), "accepted"); }

TEST(ControllerSettings, ErrorsNameFileLineAndKey) {
  struct Case {
    const char* text;
    const char* error;
  };
  constexpr Case kCases[] = {
      {"nic_rate = 400", "x.toml:1: nic_rate: write a rate, like \"100 Gb/s\""},
      {"nic_rate = \"fast\"", "x.toml:1: nic_rate: write a rate, like \"100 Gb/s\""},
      {"nic_rate = \"-1 Gb/s\"", "x.toml:1: nic_rate: write a rate, like \"100 Gb/s\""},
      {"nic_rate = \"1e300 Gb/s\"", "x.toml:1: nic_rate: write a rate, like \"100 Gb/s\""},
      {"\nspeed = 1", "x.toml:2: speed: is not a key; known are nic_rate, link, class"},
      {"link = 1", "x.toml:1: link: write [[link]], at most 65536 times"},
      {"[[link]]\nrate = \"1 Gb/s\"",
       "x.toml:1: link.between: write two addresses, like [\"10.1.0.2\", \"10.2.0.1\"]"},
      {"[[link]]\nbetween = [\"10.1.0.2\", \"r2\"]",
       "x.toml:2: link.between: write two addresses, like [\"10.1.0.2\", \"10.2.0.1\"]"},
      {"[[link]]\nbetween = [\"10.1.0.2\", \"10.1.0.3\"]",
       "x.toml:1: link.rate: is missing; write a rate, like \"100 Gb/s\""},
      {"[[class]]\ntraffic_class = 256\nrate_limit = \"1 Gb/s\"",
       "x.toml:2: class.traffic_class: write a number from 0 to 255"},
  };
  for (const Case& one : kCases) EXPECT_EQ(why(one.text), one.error);
  EXPECT_EQ(why("[[class]\n").substr(0, 18), "x.toml:1: not TOML");
}

TEST(ControllerSettings, AClassHasOneLimit) {
  constexpr std::string_view kClass = "[[class]]\ntraffic_class = 1\nrate_limit = \"1 Gb/s\"\n";
  EXPECT_EQ(why(std::string{kClass} + std::string{kClass}),
            "x.toml:4: class.traffic_class: 1 has a limit already");
}

TEST(PlannerEvent, AMoveNamesQpPortsAndTheSharedLink) {
  const PlannerEvent event{
      .kind = PlannerEvent::Kind::kMoved,
      .reason = PlannerEvent::Reason::kShared,
      .host = "node-1",
      .qpn = Qpn{0x3a087a},
      .peer = Qpn{8},
      .pair = {.source = wire::Gid::ipv4(10, 0, 0, 1), .destination = wire::Gid::ipv4(10, 0, 0, 2)},
      .from = 49415,
      .to = 50211,
      .link = {.from = wire::Gid::ipv4(10, 1, 0, 2), .to = wire::Gid::ipv4(10, 2, 0, 1)},
      .flows = 3};
  EXPECT_EQ(line_of(event),
            "moved qp 0x3a087a 10.0.0.1 -> 10.0.0.2 from port 49415 to 50211: 3 flows shared link "
            "10.1.0.2-10.2.0.1");
  const auto json = json_of(event);
  EXPECT_EQ(json["event"], "moved");
  EXPECT_EQ(json["qpn"], 0x3a087a);
  EXPECT_EQ(json["to_port"], 50211);
}

}  // namespace
}  // namespace nerve::controller
