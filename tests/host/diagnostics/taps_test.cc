// Goal: the configured taps are in the right place, and each packet is captured once. Method:
// frames through taps onto a recorder, and captures read back.
#include "host/diagnostics/taps.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/network/exchange.h"
#include "tests/link/tap/frames.h"
#include "wire/pcap.h"

namespace nerve::host {
namespace {

using link::Recorder;
using link::TestFrame;

constexpr std::uint32_t kSlot = 5;
constexpr std::uint32_t kQpn = kSlot << kSlotShift | 2;

class HostTaps : public testing::Test {
 protected:
  HostTaps() { file_ = testing::TempDir() + "nerve_taps_" + std::to_string(::getpid()) + ".pcap"; }
  ~HostTaps() override { std::filesystem::remove(file_); }

  [[nodiscard]] Config capturing(CaptureDirection direction = CaptureDirection::kSent) const {
    Config config;
    config.pcap = file_;
    config.pcap_direction = direction;
    return config;
  }
  // The number of packets in the capture.
  [[nodiscard]] std::size_t captured() const {
    std::ifstream in{file_, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    auto reader = wire::PcapReader::open(std::as_bytes(std::span{text}));
    std::size_t count = 0;
    if (!reader) return count;
    for (auto next = reader->next(); next && *next; next = reader->next()) ++count;
    return count;
  }
  Taps make(const Config& config) { return {config, out, engines, {}, problems}; }

  static void send(Taps& taps, std::uint32_t psn) {
    TestFrame made{"RC_SEND_ONLY", kQpn, psn};
    const wire::Frame frame = made.frame();
    taps.egress().send({&frame, 1}, Time{});
  }

  std::string file_;
  Recorder out;
  Recorder engines;
  std::vector<std::string> problems;
};

TEST_F(HostTaps, WithoutTapsFramesPassDirectly) {
  Taps taps = make({});
  EXPECT_EQ(&taps.egress(), &out);
  EXPECT_EQ(&taps.sink(), &engines);
  EXPECT_EQ(&taps.own_sink(), &engines);
  EXPECT_FALSE(taps.next_deadline());
  EXPECT_EQ(taps.faults(), nullptr);
}

TEST_F(HostTaps, TheCaptureShowsPacketsAfterFaults) {
  Config config = capturing();
  config.fault = "drop=2";
  Taps taps = make(config);
  for (std::uint32_t psn = 1; psn <= 3; ++psn) send(taps, psn);
  taps.finish();
  EXPECT_TRUE(problems.empty()) << problems[0];
  EXPECT_EQ(out.psns(), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(captured(), 2U);
  EXPECT_EQ(taps.faults()->lost, 1U);
}

TEST_F(HostTaps, DelayedPacketsLeaveInTime) {
  Config config;
  config.fault = "delay=1ms";
  Taps taps = make(config);
  send(taps, 1);
  EXPECT_TRUE(out.sent.empty());
  ASSERT_TRUE(taps.next_deadline());
  taps.expire(*taps.next_deadline());
  EXPECT_EQ(out.sent.size(), 1U);
  EXPECT_FALSE(taps.next_deadline());
}

TEST_F(HostTaps, AnUnusableTapIsReportedAndLeftOut) {
  Config config;
  config.pcap = "/nowhere/run.pcap";
  config.fault = "loss=lots";
  Taps taps = make(config);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_NE(problems[0].find("/nowhere/run.pcap"), std::string::npos);
  EXPECT_NE(problems[1].find("lots"), std::string::npos);
  send(taps, 1);
  EXPECT_EQ(out.sent.size(), 1U);
}

// A program that talks to itself: its frames come back through its own ring.
class OwnFrames : public HostTaps, public testing::WithParamInterface<CaptureDirection> {};

TEST_P(OwnFrames, AreCapturedOncePerDirection) {
  Exchange exchange{Transport::kShm, kSlot};
  exchange.set_local({link::kHere, link::kThere});
  exchange.set_own(OwnRing::make({}));
  Taps taps{capturing(GetParam()), exchange, engines, {}, problems};
  for (std::uint32_t psn = 0; psn < 10; ++psn) {
    exchange.begin_burst(Time{});
    const wire::Flow flow{.source = link::kHere, .destination = link::kThere};
    ASSERT_EQ(exchange.grant({.flow = flow, .destination = Qpn{kQpn}, .frames = 1}), 1U);
    send(taps, psn);
    EXPECT_EQ(exchange.receive(taps.own_sink(), taps.sink(), 100, Time{}), 1U);
  }
  taps.finish();
  EXPECT_EQ(engines.sent.size(), 10U);
  EXPECT_EQ(captured(), GetParam() == CaptureDirection::kBoth ? 20U : 10U);
}

INSTANTIATE_TEST_SUITE_P(Directions, OwnFrames,
                         testing::Values(CaptureDirection::kSent, CaptureDirection::kBoth));

}  // namespace
}  // namespace nerve::host
