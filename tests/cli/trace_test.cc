// Goal: `nerve trace` shows the messages of real programs, also of killed ones, and returns their
// exit code. Method: the built program, and two peers that talk over verbs.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "cli/commands.h"
#include "tests/cli/program.h"

namespace nerve::cli::trace_test {
namespace {

using nlohmann::json;
using test::nerve;
using test::Outcome;

class TraceCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "nerve_trace_" + std::to_string(::getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, channel_.data()), 0);
  }
  void TearDown() override {
    for (const int fd : channel_) ::close(fd);
    std::filesystem::remove_all(folder_);
  }

  // Two peers that find each other by an inherited socket.
  [[nodiscard]] std::string peers(const std::string& options) const {
    const std::string fds[] = {std::to_string(channel_[0]), std::to_string(channel_[1])};
    return NERVE_VERBS_PEER " lead " + fds[0] + " " + options +
           " & a=$!; " NERVE_VERBS_PEER " follow " + fds[1] + " " + options;
  }
  [[nodiscard]] std::string outputs() const {
    return "trace --device nerve0=lo --out " + folder_ + "/t.html --json " + folder_ +
           "/t.json --chrome " + folder_ + "/t.perfetto ";
  }
  [[nodiscard]] json document() const {
    std::ifstream file{folder_ + "/t.json"};
    return json::parse(file, nullptr, false);
  }
  // How many events of this step there are.
  static std::size_t count(const json& document, const std::string& step) {
    std::size_t found = 0;
    for (const json& event : document["events"]) {
      const auto index = event[2].get<std::size_t>();
      found += document["steps"][index]["name"] == step ? 1 : 0;
    }
    return found;
  }

  std::string folder_;
  std::array<int, 2> channel_{-1, -1};
};

TEST_F(TraceCommand, ShowsBothEndsOfEachMessage) {
  const Outcome run =
      nerve(outputs() + "--transport shm -- sh -c '" + peers("rounds=20 seed=3") + "; wait'");
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/t.html")) << run.text;
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/t.perfetto"));
  const json trace = document();
  ASSERT_FALSE(trace.is_discarded());
  EXPECT_EQ(trace["ends"].size(), 2U);
  EXPECT_GE(trace["messages"].size(), 20U);
  for (const json& message : trace["messages"]) {
    EXPECT_EQ(message["status"], "success") << message;
    EXPECT_GE(message["peer_end"], 0) << message;
    EXPECT_LE(message["begin"], message["finish"]);
  }
  // Every packet that arrived is one that was sent.
  std::size_t paired = 0;
  for (const json& event : trace["events"]) {
    const std::string step = trace["steps"][event[2].get<std::size_t>()]["name"];
    if (step != "packet_received") continue;
    EXPECT_GE(event[7], 0) << event;
    ++paired;
  }
  EXPECT_GT(paired + count(trace, "direct"), 20U);
  for (const char* step : {"register", "create_qp", "modify_qp", "post", "doorbell", "polled"}) {
    EXPECT_GT(count(trace, step), 0U) << step;
  }
}

TEST_F(TraceCommand, ShowsPacketsThatFaultsDrop) {
  const Outcome run = nerve(outputs() + "--fault 'drop=2,op=SEND*' -- sh -c '" +
                            peers("rounds=20 window=1 seed=3") + "; wait'");
  EXPECT_EQ(run.exit_code, 0) << run.text;
  const json trace = document();
  ASSERT_FALSE(trace.is_discarded());
  // One of each direction. Not an ACK: the next one may make up for it.
  EXPECT_EQ(count(trace, "packet_dropped"), 2U);
  EXPECT_GT(count(trace, "retransmit"), 0U);
  for (const json& event : trace["events"]) {
    const std::string step = trace["steps"][event[2].get<std::size_t>()]["name"];
    if (step != "packet_dropped") continue;
    EXPECT_GE(event[7], 0) << event;
  }
}

TEST_F(TraceCommand, ShowsProgramsThatWereKilled) {
  const Outcome run = nerve(outputs() + "-- sh -c 'exec >/dev/null; " + peers("rounds=0") +
                            " & b=$!; sleep 1; kill -9 $a $b; exit 3'");
  EXPECT_EQ(run.exit_code, 3) << run.text;
  const json trace = document();
  ASSERT_FALSE(trace.is_discarded()) << run.text;
  EXPECT_EQ(trace["ends"].size(), 2U);
  EXPECT_GT(count(trace, "completion"), 0U);
}

TEST_F(TraceCommand, TwoRunsShareAFolder) {
  const std::string shared = " --folder " + folder_ + "/both ";
  const auto peer = [&](const std::string& role, int fd) {
    return nerve(outputs() + shared + "-- " NERVE_VERBS_PEER " " + role + " " + std::to_string(fd) +
                 " rounds=5");
  };
  Outcome leader;
  std::thread lead{[&] { leader = peer("lead", channel_[0]); }};
  const Outcome follower = peer("follow", channel_[1]);
  lead.join();
  EXPECT_EQ(leader.exit_code, 0) << leader.text;
  EXPECT_EQ(follower.exit_code, 0) << follower.text;
  const Outcome merged = nerve(outputs() + shared);
  EXPECT_EQ(merged.exit_code, 0) << merged.text;
  EXPECT_EQ(document()["ends"].size(), 2U);
}

TEST_F(TraceCommand, ReportsThatNothingWasTraced) {
  const Outcome run = nerve(outputs() + "-- sh -c 'exit 5'");
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_EQ(run.text, "nerve trace: no program opened an RDMA device: nothing was traced\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/t.html"));
  EXPECT_EQ(nerve("trace --folder " + folder_ + "/none").exit_code, kExitFailed);
  EXPECT_EQ(nerve("trace").exit_code, kExitUsage);
  EXPECT_EQ(nerve("trace -- no-such-program").exit_code, 127);
}

}  // namespace
}  // namespace nerve::cli::trace_test
