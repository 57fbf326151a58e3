// Goal: requests between late memories of two engines are copied by the direct path, one behind the
// other, and complete when their bytes have landed. What is sent as packets waits for them, and
// they wait for it.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <vector>

#include "base/late_memory.h"
#include "nic/direct_path.h"
#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

using test::EndSetup;
using test::Pair;

constexpr std::uint32_t kCopied = 10'000;   // several packets
constexpr std::uint32_t kBehind = 1 << 16;  // where receives are

std::byte* pointer(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

// The memory of this process, as if it were late. Copies land when the test says so.
class SlowMemory final : public LateMemory {
 public:
  Fetched fetch(const Wanted& wanted) override {
    return {Progress::kDone, pointer(wanted.address), 1};
  }
  void release(const void* /*engine*/) override {}
  void write(std::uint64_t address, Bytes from) override {
    std::memcpy(pointer(address), from.data(), from.size());
    begin(address, address, 0);
  }
  [[nodiscard]] Ticket written() const override { return written_; }
  Progress landed(Ticket after, Ticket last) override {
    if (failed > after && failed <= last) return Progress::kFailed;
    return written_ - copies_.size() >= last ? Progress::kDone : Progress::kLater;
  }
  void read(std::uint64_t address, MutableBytes into) override {
    std::memcpy(into.data(), pointer(address), into.size());
  }
  std::uint64_t compare_swap(std::uint64_t, std::uint64_t, std::uint64_t) override { return 0; }
  std::uint64_t fetch_add(std::uint64_t, std::uint64_t) override { return 0; }
  void store_word(std::uint64_t, std::uint64_t) override {}

  void begin(std::uint64_t to, std::uint64_t from, std::uint32_t length) {
    copies_.push_back({to, from, length});
    ++written_;
    if (lands_at_once) land();
  }
  void land() {
    const Copy& copy = copies_.front();
    std::memmove(pointer(copy.to), pointer(copy.from), copy.length);
    copies_.pop_front();
  }
  [[nodiscard]] std::size_t under_way() const { return copies_.size(); }

  bool lands_at_once{};
  Ticket failed{};

 private:
  struct Copy {
    std::uint64_t to;
    std::uint64_t from;
    std::uint32_t length;
  };
  std::deque<Copy> copies_;
  Ticket written_{};
};

class SlowPath final : public DirectPath {
 public:
  explicit SlowPath(SlowMemory& memory) : memory_{memory} {}

  bool write(const Place& /*place*/, std::span<const wire::Piece> /*payload*/) override {
    return false;
  }
  bool read(const Place& /*place*/, MutableBytes /*into*/) override { return false; }
  bool begin_write(const Place& place, const wire::Piece& from) override {
    if (refuses) return false;
    memory_.begin(place.address, from.address, from.length);
    return true;
  }
  bool begin_read(const Place& place, const wire::Piece& into) override {
    if (refuses) return false;
    memory_.begin(into.address, place.address, into.length);
    return true;
  }
  [[nodiscard]] bool is_better_for(std::uint32_t /*length*/) const override { return false; }
  void offer(RKey /*key*/, const Region& region) override { offered_late = region.late; }
  void withdraw(RKey /*key*/) override {}
  void offer(Qpn /*qpn*/, const Connection& /*connection*/) override {}
  void withdraw(Qpn /*qpn*/) override {}

  bool refuses{};
  bool offered_late{};

 private:
  SlowMemory& memory_;
};

struct LateCopies : ::testing::Test {
  LateCopies() : path{memory}, pair{setup()} {
    pair.connect();
    pair.seen.clear();
    pair.a.fill(0, pair.a.memory.size(), 7);
    for (test::End* const end : {&pair.a, &pair.b}) {
      const MrHandle mr = *end->nic.register_mr({.pd = end->pd,
                                                 .address = end->at(0),
                                                 .length = end->memory.size(),
                                                 .iova = end->at(0),
                                                 .access = kAll,
                                                 .port = &memory});
      end->keys = *end->nic.keys_of(mr);
    }
  }
  EndSetup setup() {
    EndSetup setup;
    setup.hooks.direct_path = &path;
    setup.hooks.late_memory = &memory;
    return setup;
  }
  void post(SendOp op, std::uint64_t wr_id, SendFlags flags = SendFlags::kSignaled) {
    ASSERT_TRUE(pair.a.post({.wr_id = wr_id,
                             .op = op,
                             .flags = flags,
                             .remote_address = pair.b.at(0),
                             .rkey = pair.b.keys.rkey,
                             .immediate = 17},
                            0, kCopied));
  }
  // Lets both engines do what they can.
  void turn() {
    for (test::End* const end : {&pair.a, &pair.b}) end->nic.poll_memory(pair.now);
    pair.exchange();
  }
  void land() {
    memory.land();
    turn();
  }
  using Ids = std::vector<std::uint64_t>;
  static Ids ids(const std::vector<Completion>& completions) {
    Ids all;
    for (const Completion& completion : completions) {
      EXPECT_EQ(completion.status, WcStatus::kSuccess);
      all.push_back(completion.wr_id);
    }
    return all;
  }
  Ids done() { return ids(pair.a.completions()); }
  [[nodiscard]] bool arrived() const {
    return pair.a.bytes(0, kCopied) == pair.b.bytes(0, kCopied);
  }

  static constexpr Access kAll = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead;
  SlowMemory memory;
  SlowPath path;
  Pair pair;
};

TEST_F(LateCopies, CompleteWhenTheyHaveLanded) {
  EXPECT_TRUE(path.offered_late);
  post(SendOp::kWrite, 1);
  turn();
  EXPECT_EQ(memory.under_way(), 1U);
  EXPECT_TRUE(pair.seen.empty());
  EXPECT_TRUE(done().empty());
  land();
  EXPECT_EQ(done(), Ids{1});
  EXPECT_TRUE(arrived());
  EXPECT_EQ(pair.a.nic.counters().late_bytes_copied, kCopied);
}

TEST_F(LateCopies, FollowEachOtherWithoutWaiting) {
  post(SendOp::kWrite, 1);
  post(SendOp::kRead, 2);
  post(SendOp::kWrite, 3, SendFlags::kNone);
  post(SendOp::kWrite, 4);
  turn();
  EXPECT_EQ(memory.under_way(), 4U);
  EXPECT_TRUE(done().empty());
  land();
  EXPECT_EQ(done(), Ids{1});
  land();
  land();
  EXPECT_EQ(done(), Ids{2});
  land();
  EXPECT_EQ(done(), Ids{4});
  EXPECT_TRUE(pair.seen.empty());
}

TEST_F(LateCopies, WithImmediateDataSendAPacketWithoutPayload) {
  ASSERT_TRUE(pair.b.post_receive(9, kBehind, 0));
  post(SendOp::kWriteImm, 1);
  turn();
  EXPECT_TRUE(pair.seen.empty());
  EXPECT_TRUE(pair.b.completions().empty());
  land();
  const auto received = pair.b.completions();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].opcode, WcOpcode::kRecvWriteImm);
  EXPECT_EQ(received[0].bytes, kCopied);
  EXPECT_EQ(received[0].immediate, 17U);
  EXPECT_TRUE(arrived());
  EXPECT_EQ(done(), Ids{1});
}

TEST_F(LateCopies, MakePacketsWait) {
  ASSERT_TRUE(pair.b.post_receive(9, kBehind, kCopied));
  post(SendOp::kWrite, 1);
  post(SendOp::kSend, 2);
  turn();
  EXPECT_TRUE(pair.seen.empty());
  memory.lands_at_once = true;
  land();
  EXPECT_FALSE(pair.seen.empty());
  EXPECT_EQ(done(), (Ids{1, 2}));
}

TEST_F(LateCopies, WaitForPackets) {
  memory.lands_at_once = true;
  post(SendOp::kWrite, 1);
  turn();
  EXPECT_EQ(done(), Ids{1});
  ASSERT_TRUE(pair.b.post_receive(9, kBehind, kCopied));
  const std::uint64_t before = memory.written();
  post(SendOp::kSend, 2);
  post(SendOp::kWrite, 3);
  TxBurst burst{64};
  (void)pair.a.nic.transmit(burst, pair.now);  // these packets are lost
  EXPECT_EQ(memory.written(), before);
  pair.wait(std::chrono::seconds{1});
  turn();
  EXPECT_EQ(done(), (Ids{2, 3}));
}

TEST_F(LateCopies, ThatAreRefusedBecomePackets) {
  path.refuses = memory.lands_at_once = true;
  post(SendOp::kWrite, 1);
  for (int i = 0; i < 4; ++i) turn();
  EXPECT_FALSE(pair.seen.empty());
  EXPECT_EQ(done(), Ids{1});
  EXPECT_TRUE(arrived());
}

TEST_F(LateCopies, ThatFailEndTheConnection) {
  post(SendOp::kWrite, 1);
  post(SendOp::kWrite, 2);
  turn();
  memory.failed = 1;
  turn();
  const auto completions = pair.a.completions();
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(pair.a.state(), QpState::kErr);
}

}  // namespace
}  // namespace nerve::nic
