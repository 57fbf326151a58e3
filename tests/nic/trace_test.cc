// Goal: a trace has every step of a message, once and in order, and nothing beyond a QP's share.
// Method: two engines in memory, each with a trace whose clock counts its readings.
#include "nic/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/nic/pair.h"

namespace nerve::nic::trace_test {
namespace {

using enum TraceStep;

struct Recorder {
  explicit Recorder(std::uint64_t messages = 1000, std::size_t room = 4096)
      : records(room),
        trace{{.records = records,
               .count = &count,
               .clock =
                   [](const void* self) {
                     return ++const_cast<Recorder*>(static_cast<const Recorder*>(self))->ticks;
                   },
               .context = this},
              messages} {}

  // The steps of the QP since the last call.
  std::vector<TraceStep> steps(Qpn qpn) {
    std::vector<TraceStep> found;
    for (; read < std::min<std::uint64_t>(count, records.size()); ++read) {
      const TraceRecord& record = records[read];
      if (record.qpn == qpn.value()) found.push_back(record.step);
    }
    return found;
  }
  [[nodiscard]] std::size_t count_of(TraceStep step) const {
    return static_cast<std::size_t>(std::ranges::count(records, step, &TraceRecord::step));
  }
  [[nodiscard]] const TraceRecord* find(TraceStep step) const {
    const auto found = std::ranges::find(records, step, &TraceRecord::step);
    return found != records.end() ? &*found : nullptr;
  }

  std::vector<TraceRecord> records;
  std::atomic<std::uint64_t> count{};
  std::uint64_t ticks{};
  std::uint64_t read{};
  Trace trace;
};

class TraceTest : public testing::Test {
 protected:
  explicit TraceTest(std::uint64_t messages = 1000) : a{messages}, b{messages} {}

  static test::EndSetup traced(Recorder& recorder) {
    test::EndSetup setup;
    setup.hooks.trace = &recorder.trace;
    return setup;
  }
  void connect() {
    pair.connect();
    (void)a.steps(pair.a.qpn());
    (void)b.steps(pair.b.qpn());
  }
  SendWr signaled(SendOp op) const {
    return {.wr_id = 7,
            .op = op,
            .flags = SendFlags::kSignaled,
            .remote_address = pair.b.at(0),
            .rkey = pair.b.keys.rkey};
  }

  Recorder a;
  Recorder b;
  test::Pair pair{traced(a), traced(b)};
};

class ShortTraceTest : public TraceTest {
 protected:
  ShortTraceTest() : TraceTest{2} {}
};

using Steps = std::vector<TraceStep>;

TEST_F(TraceTest, ShowsTheStepsOfASend) {
  connect();
  ASSERT_TRUE(pair.b.post_receive(1, 0, 2000));
  ASSERT_TRUE(pair.a.post(signaled(SendOp::kSend), 0, 1500));
  a.trace.doorbell();
  pair.exchange();
  ASSERT_EQ(pair.a.completions().size(), 1U);
  ASSERT_EQ(pair.b.completions().size(), 1U);
  EXPECT_EQ(a.steps(pair.a.qpn()),
            (Steps{kPost, kDoorbell, kFetch, kPacketMade, kPacketMade, kPacketSent, kPacketSent,
                   kPacketReceived, kAckReceived, kCompletion, kPolled}));
  EXPECT_EQ(b.steps(pair.b.qpn()),
            (Steps{kPostReceive, kPacketReceived, kChecked, kPlaced, kPacketReceived, kChecked,
                   kPlaced, kCompletion, kAckSent, kPacketSent, kPolled}));
  const TraceRecord* const post = a.find(kPost);
  EXPECT_EQ(post->id, 7U);
  EXPECT_EQ(post->bytes, 1500U);
  EXPECT_EQ(post->message, 0U);
  const TraceRecord* const sent = a.find(kPacketSent);
  const TraceRecord* const received = b.find(kPacketReceived);
  EXPECT_EQ(sent->psn, received->psn);
  EXPECT_EQ(sent->peer, received->qpn);
  EXPECT_EQ(sent->qpn, received->peer);
  EXPECT_EQ(sent->opcode, received->opcode);
  EXPECT_EQ(sent->bytes, 1024U);
}

TEST_F(TraceTest, ShowsALostPacketAndItsRetransmission) {
  connect();
  bool lost = false;
  pair.lose = [&](const test::Seen& seen) { return seen.from_a && !std::exchange(lost, true); };
  ASSERT_TRUE(pair.a.post(signaled(SendOp::kWrite), 0, 3000));
  pair.exchange();
  pair.wait(std::chrono::seconds{1});
  ASSERT_EQ(pair.a.completions().size(), 1U);
  EXPECT_EQ(b.find(kRefused)->detail, detail_of(TraceDetail::kRefusal, TraceRefusal::kOutOfOrder));
  ASSERT_NE(b.find(kNakSent), nullptr);
  ASSERT_NE(a.find(kNakReceived), nullptr);
  EXPECT_EQ(a.find(kRetransmit)->detail, detail_of(TraceDetail::kCause, TraceCause::kNak));
  EXPECT_EQ(a.count_of(kPacketMade), 6U);  // three, and the same three again
  EXPECT_EQ(b.count_of(kPlaced), 3U);
}

TEST_F(TraceTest, ShowsARefusedWriteAndTheErrorState) {
  connect();
  SendWr wr = signaled(SendOp::kWrite);
  wr.rkey = RKey{wr.rkey.value() + 1};
  ASSERT_TRUE(pair.a.post(wr, 0, 100));
  pair.exchange();
  ASSERT_EQ(pair.a.completions().size(), 1U);
  EXPECT_EQ(b.find(kRefused)->detail,
            detail_of(TraceDetail::kRefusal, TraceRefusal::kRemoteAccess));
  EXPECT_EQ(a.find(kCompletion)->detail,
            detail_of(TraceDetail::kWcStatus, WcStatus::kRemoteAccess));
  const auto errors = std::ranges::count(a.records, detail_of(TraceDetail::kQpState, QpState::kErr),
                                         &TraceRecord::detail);
  EXPECT_EQ(errors, 1);
}

TEST_F(TraceTest, TheRequesterPlacesWhatItReads) {
  connect();
  ASSERT_TRUE(pair.a.post(signaled(SendOp::kRead), 0, 2000));
  pair.exchange();
  EXPECT_EQ(a.count_of(kPlaced), 2U);
  EXPECT_EQ(b.count_of(kPlaced), 0U);
  EXPECT_EQ(b.count_of(kPacketSent), 2U);
  EXPECT_EQ(a.find(kFetch)->peer, 2U);  // it takes the PSNs of its responses
}

TEST_F(ShortTraceTest, AQpShowsItsFirstMessagesOnly) {
  connect();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(pair.b.post_receive(1, 0, 100));
    ASSERT_TRUE(pair.a.post(signaled(SendOp::kSend), 0, 100));
    pair.exchange();
    ASSERT_EQ(pair.a.completions().size(), 1U);
    ASSERT_EQ(pair.b.completions().size(), 1U);
  }
  for (const TraceStep step : {kPost, kFetch, kPacketMade, kPacketSent, kCompletion, kPolled}) {
    EXPECT_EQ(a.count_of(step), 2U) << static_cast<int>(step);
  }
  for (const TraceStep step : {kPostReceive, kChecked, kPlaced, kAckSent, kCompletion, kPolled}) {
    EXPECT_EQ(b.count_of(step), 2U) << static_cast<int>(step);
  }
  // Rare steps go on.
  ASSERT_TRUE(pair.a.post(signaled(SendOp::kSend), 0, 100));
  pair.exchange();
  EXPECT_EQ(b.find(kRefused)->detail, detail_of(TraceDetail::kRefusal, TraceRefusal::kNoReceive));
  EXPECT_NE(a.find(kNakReceived), nullptr);
}

TEST(Trace, CountsWhatDoesNotFit) {
  Recorder recorder{10, 3};
  for (int i = 0; i < 5; ++i) recorder.trace.add({.step = kRegister});
  EXPECT_EQ(recorder.count, 5U);
  EXPECT_EQ(recorder.count_of(kRegister), 3U);
}

TEST(Trace, AfterStopNothingIsWritten) {
  Recorder recorder;
  recorder.trace.add({.step = kRegister});
  recorder.trace.stop();
  recorder.trace.add({.step = kRegister});
  recorder.trace.packets_sent();
  EXPECT_EQ(recorder.count, 1U);
}

TEST(Trace, WritesOnlyWhatItsRoomWasExtendedTo) {
  std::vector<TraceRecord> records(10);
  std::atomic<std::uint64_t> count{};
  Trace trace{{.records = records,
               .count = &count,
               .clock = [](const void*) { return std::uint64_t{1}; },
               .extend = [](void*, std::uint64_t) { return std::uint64_t{4}; }},
              10};
  for (int i = 0; i < 6; ++i) trace.add({.step = kRegister});
  EXPECT_EQ(std::ranges::count(records, kRegister, &TraceRecord::step), 4);
  EXPECT_EQ(count, 6U);
}

}  // namespace
}  // namespace nerve::nic::trace_test
