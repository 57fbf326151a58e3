// Goal: a WRITE or READ takes the direct path when its QP has nothing in flight and nothing else
// queued, or when the direct path is declared better than packets. It keeps the order of its queue,
// is copied in parts when it is large, and is sent as packets when the direct path refuses it.
#include "nic/direct_path.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

using test::EndSetup;
using test::Pair;

constexpr std::uint32_t kSmall = 64;
constexpr std::uint32_t kSecondHalf = 1 << 16;

// Both ends are in one process, so an address is valid at either.
class Copies final : public DirectPath {
 public:
  bool write(const Place& place, std::span<const wire::Piece> payload) override {
    if (refuse_at == copied.size()) return false;
    auto* to = reinterpret_cast<std::byte*>(place.address);
    std::uint32_t length = 0;
    for (const wire::Piece& piece : payload) {
      std::memcpy(to + length, reinterpret_cast<const void*>(piece.address), piece.length);
      length += piece.length;
    }
    copied.push_back(length);
    return true;
  }
  bool read(const Place& place, MutableBytes into) override {
    if (refuse_at == copied.size()) return false;
    std::memcpy(into.data(), reinterpret_cast<const void*>(place.address), into.size());
    copied.push_back(static_cast<std::uint32_t>(into.size()));
    return true;
  }
  [[nodiscard]] bool is_better_for(std::uint32_t) const override { return better; }
  void offer(RKey, const Region&) override {}
  void withdraw(RKey) override {}
  void offer(Qpn, const Connection&) override {}
  void withdraw(Qpn) override {}

  bool better{};
  std::size_t refuse_at{~std::size_t{}};
  std::vector<std::uint32_t> copied;  // lengths, in order
};

struct DirectPaths : ::testing::Test {
  DirectPaths() : pair{setup(cut)} {
    pair.connect();
    pair.seen.clear();
    pair.a.fill(0, pair.a.memory.size(), 7);
  }

  static EndSetup setup(Copies& cut) {
    EndSetup setup;
    setup.caps.max_send_wr = setup.cq_depth = 128;
    setup.hooks.direct_path = &cut;
    return setup;
  }

  void post(SendOp op, std::uint32_t length, std::uint64_t wr_id = 1) {
    ASSERT_TRUE(pair.a.post({.wr_id = wr_id,
                             .op = op,
                             .flags = SendFlags::kSignaled,
                             .remote_address = pair.b.at(0),
                             .rkey = pair.b.keys.rkey},
                            0, length));
  }
  // The requests that completed successfully.
  std::vector<std::uint64_t> done() {
    std::vector<std::uint64_t> ids;
    for (const Completion& completion : pair.a.completions()) {
      EXPECT_EQ(completion.status, WcStatus::kSuccess);
      ids.push_back(completion.wr_id);
    }
    return ids;
  }
  [[nodiscard]] bool arrived(std::uint32_t length) const {
    return pair.a.bytes(0, length) == pair.b.bytes(0, length);
  }

  Copies cut;
  Pair pair;
  using Lengths = std::vector<std::uint32_t>;
  using Ids = std::vector<std::uint64_t>;
};

TEST_F(DirectPaths, AreTakenByARequestThatIsAlone) {
  post(SendOp::kWrite, kSmall);
  pair.exchange();
  EXPECT_EQ(cut.copied, Lengths{kSmall});
  EXPECT_TRUE(pair.seen.empty());
  EXPECT_EQ(done(), Ids{1});
  EXPECT_TRUE(arrived(kSmall));
}

TEST_F(DirectPaths, AreNotForRequestsThatComeTogether) {
  post(SendOp::kWrite, kSmall, 1);
  post(SendOp::kWrite, kSmall, 2);
  pair.exchange();
  EXPECT_TRUE(cut.copied.empty());
  EXPECT_EQ(done(), (Ids{1, 2}));
  EXPECT_TRUE(arrived(kSmall));
}

TEST_F(DirectPaths, AreForAllWhereTheyAreBetter) {
  cut.better = true;
  post(SendOp::kWrite, kSmall, 1);
  post(SendOp::kRead, 2 * kSmall, 2);
  post(SendOp::kWrite, 3 * kSmall, 3);
  pair.exchange();
  EXPECT_EQ(cut.copied, (Lengths{kSmall, 2 * kSmall, 3 * kSmall}));
  EXPECT_TRUE(pair.seen.empty());
  EXPECT_EQ(done(), (Ids{1, 2, 3}));
}

TEST_F(DirectPaths, WaitForWhatWasPostedBefore) {
  cut.better = true;
  ASSERT_TRUE(pair.b.post_receive(9, kSecondHalf, kSmall));
  post(SendOp::kSend, kSmall, 1);
  post(SendOp::kWrite, kSmall, 2);
  TxBurst burst{64};
  ASSERT_EQ(pair.a.nic.transmit(burst, pair.now), 2U);
  EXPECT_TRUE(cut.copied.empty());
  EXPECT_TRUE(done().empty());
}

// One call of the driver copies 256 KB.
TEST_F(DirectPaths, CopyLargeRequestsInParts) {
  cut.better = true;
  constexpr std::uint32_t kKb = 1024;
  for (std::uint64_t id = 1; id <= 3; ++id) post(SendOp::kWrite, 96 * kKb, id);
  TxBurst burst{64};
  ASSERT_EQ(pair.a.nic.transmit(burst, pair.now), 0U);
  EXPECT_EQ(done(), (Ids{1, 2}));
  ASSERT_EQ(pair.a.nic.transmit(burst, pair.now), 0U);
  EXPECT_EQ(done(), Ids{3});
  EXPECT_EQ(cut.copied, (Lengths{96 * kKb, 96 * kKb, 64 * kKb, 32 * kKb}));
  EXPECT_TRUE(arrived(96 * kKb));
}

// A small request is charged more than its bytes, so that a call ends however many are posted.
TEST_F(DirectPaths, HaveABudgetForEachCall) {
  cut.better = true;
  constexpr std::uint32_t kPosted = 100;
  for (std::uint64_t id = 0; id < kPosted; ++id) post(SendOp::kWrite, kSmall, id);
  TxBurst burst{64};
  ASSERT_EQ(pair.a.nic.transmit(burst, pair.now), 0U);
  EXPECT_GE(cut.copied.size(), 1U);
  EXPECT_LT(cut.copied.size(), kPosted);
  EXPECT_TRUE(pair.a.nic.wants_to_send());
  ASSERT_EQ(pair.a.nic.transmit(burst, pair.now), 0U);
  EXPECT_EQ(done().size(), kPosted);
}

TEST_F(DirectPaths, LeaveWhatTheyRefuseToPackets) {
  cut.better = true;
  cut.refuse_at = 1;
  post(SendOp::kWrite, kSmall, 1);
  post(SendOp::kWrite, 2 * kSmall, 2);
  pair.exchange();
  EXPECT_EQ(cut.copied, Lengths{kSmall});
  EXPECT_EQ(done(), (Ids{1, 2}));
  EXPECT_TRUE(arrived(2 * kSmall));
}

}  // namespace
}  // namespace nerve::nic
