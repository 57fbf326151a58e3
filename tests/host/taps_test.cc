// Goal: a configuration's taps stand in the right order, and without any nothing is in the way.
#include "host/taps.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/link/tap/frames.h"

namespace nerve::host {
namespace {

std::string scratch(const char* name) {
  return testing::TempDir() + "nerve_taps_" + std::to_string(::getpid()) + "_" + name;
}

}  // namespace

TEST(Taps, NoneAreAskedFor) {
  link::Recorder link;
  Taps taps{{}, link, {}};
  EXPECT_EQ(&taps.egress(), static_cast<link::Egress*>(&link));
  EXPECT_EQ(taps.capture(link), nullptr);
  EXPECT_EQ(taps.next_deadline(), std::nullopt);
  EXPECT_EQ(taps.faults(), nullptr);
  taps.flush();
}

TEST(Taps, TheCaptureShowsWhatTheFaultsLeft) {
  link::Recorder link;
  const std::string file = scratch("faulty.pcap");
  {
    Config config;
    config.pcap = file;
    config.fault = "drop=2;delay=10us,op=ACK";
    Taps taps{config, link, {}};
    EXPECT_EQ(taps.problem(), "");
    for (std::uint32_t psn = 1; psn <= 3; ++psn) {
      link::TestFrame made{"RC_SEND_ONLY", 0x12, psn};
      const wire::Frame frame = made.frame();
      taps.egress().send({&frame, 1}, {});
    }
    link::TestFrame made{"RC_ACKNOWLEDGE", 0x12, 9, 0};
    const wire::Frame frame = made.frame();
    taps.egress().send({&frame, 1}, {});
    EXPECT_EQ(taps.file()->counters().written, 2U);
    EXPECT_EQ(taps.faults()->lost, 1U);
    EXPECT_EQ(taps.next_deadline(), Time{std::chrono::microseconds{10}});
    taps.expire(Time{std::chrono::microseconds{10}});
    EXPECT_EQ(taps.file()->counters().written, 3U);
    link::Recorder engine;
    taps.capture(engine)->deliver({&frame, 1}, {});
    EXPECT_EQ(taps.file()->counters().written, 4U);
    EXPECT_EQ(engine.sent.size(), 1U);
  }
  EXPECT_EQ(link.psns(), (std::vector<std::uint32_t>{1, 3, 9}));
  std::filesystem::remove(file);
}

TEST(Taps, AFileThatCannotBeOpenedIsToldAndLeftOut) {
  link::Recorder link;
  Config config;
  config.pcap = scratch("none") + "/x.pcap";
  Taps taps{config, link, {}};
  EXPECT_NE(taps.problem().find("No such file or directory"), std::string::npos);
  EXPECT_EQ(&taps.egress(), static_cast<link::Egress*>(&link));
}

}  // namespace nerve::host
