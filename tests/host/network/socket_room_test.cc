// Goal: senders fill a socket only as far as it has room, wait while it is full, and stop waiting
// for a receiver that reads nothing.
#include "host/network/socket_room.h"

#include <gtest/gtest.h>

#include <vector>

namespace nerve::host {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t kSize = 212'992;
constexpr std::uint64_t kFrame = 4096;
constexpr std::uint64_t kCharged = 4096 + 1024;
constexpr std::uint32_t kSocket = 3;

class Socket : public testing::Test {
 protected:
  std::optional<SocketRoom::Level> look(std::uint32_t socket) {
    EXPECT_EQ(socket, kSocket);
    ++looks_;
    return level_;
  }
  SocketRoom make() {
    return SocketRoom{16, [this](std::uint32_t socket) { return look(socket); }};
  }
  // A burst of at most this many frames; returns how many were sent.
  std::uint32_t send(SocketRoom& room, std::uint32_t frames) {
    room.begin_burst();
    const std::uint32_t granted = room.grant(kSocket, frames, now_);
    room.sent(kSocket, granted, granted * kFrame);
    if (level_) level_->used += granted * kCharged;
    return granted;
  }
  std::uint64_t fill(SocketRoom& room) {
    std::uint64_t sent = 0;
    while (const std::uint32_t some = send(room, 64)) sent += some;
    return sent;
  }

  std::optional<SocketRoom::Level> level_ = SocketRoom::Level{.used = 0, .size = kSize};
  int looks_{};
  Time now_{std::chrono::hours{1}};
};

TEST_F(Socket, IsNotOverfilled) {
  SocketRoom room = make();
  EXPECT_GT(fill(room), 20U);
  EXPECT_LE(level_->used, kSize);
  EXPECT_GT(level_->used, kSize / 2);
}

TEST_F(Socket, IsNotOverfilledBySeveralSenders) {
  std::vector<SocketRoom> senders;
  for (int i = 0; i < 4; ++i) senders.push_back(make());
  for (bool any = true; any;) {
    any = false;
    // All check before one of them sends.
    std::vector<std::uint32_t> granted;
    for (SocketRoom& sender : senders) {
      sender.begin_burst();
      granted.push_back(sender.grant(kSocket, 64, now_));
    }
    for (std::size_t i = 0; i < senders.size(); ++i) {
      senders[i].sent(kSocket, granted[i], granted[i] * kFrame);
      level_->used += granted[i] * kCharged;
      any = any || granted[i] > 0;
    }
  }
  EXPECT_LE(level_->used, kSize);
}

TEST_F(Socket, OneBurstOfSeveralQpsSharesOneGrant) {
  SocketRoom room = make();
  room.begin_burst();
  std::uint64_t granted = 0;
  while (const std::uint32_t some = room.grant(kSocket, 2, now_)) granted += some;
  EXPECT_LE(granted * kCharged, kSize / 4);
  room.give_back(1);
  EXPECT_EQ(room.grant(kSocket, 2, now_), 1U);
}

TEST_F(Socket, IsNotCheckedForEveryPacket) {
  level_->size = 1 << 22;
  SocketRoom room = make();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(send(room, 1), 1U);
  EXPECT_LE(looks_, 2);
}

TEST_F(Socket, HasRoomAgainWhenItIsRead) {
  SocketRoom room = make();
  (void)fill(room);
  EXPECT_FALSE(room.room_again(now_));
  ASSERT_TRUE(room.next_room());
  EXPECT_GT(*room.next_room(), now_);
  level_->used = 0;
  now_ = *room.next_room();
  EXPECT_TRUE(room.room_again(now_));
  EXPECT_FALSE(room.room_again(now_)) << "reported already";
  EXPECT_FALSE(room.next_room());
  EXPECT_GT(send(room, 64), 0U);
}

TEST_F(Socket, IsWaitedForWhileItsReaderIsSlow) {
  SocketRoom room = make();
  (void)fill(room);
  level_->used = kSize;
  for (int i = 0; i < 50; ++i) {
    now_ += milliseconds{100};
    level_->used -= 100;
    ASSERT_FALSE(room.room_again(now_));
    ASSERT_EQ(send(room, 64), 0U);
  }
}

TEST_F(Socket, WithoutAReaderLosesPackets) {
  SocketRoom room = make();
  (void)fill(room);
  const Time full = now_;
  int looks = 0;
  while (!room.room_again(now_)) {
    ASSERT_LT(now_ - full, milliseconds{1100});
    now_ = *room.next_room();
    ++looks;
  }
  EXPECT_GE(now_ - full, milliseconds{1000});
  EXPECT_LT(looks, 2000);
  EXPECT_EQ(send(room, 64), 64U);
  EXPECT_EQ(send(room, 64), 64U);
  // The receiver reads again, so senders wait again.
  now_ += milliseconds{10};
  level_->used = 0;
  (void)fill(room);
  EXPECT_LE(level_->used, kSize);
}

TEST_F(Socket, MayHaveBeenReadSinceTheLastCheck) {
  SocketRoom room = make();
  (void)fill(room);
  now_ += std::chrono::seconds{5};
  EXPECT_EQ(send(room, 64), 0U);
}

TEST_F(Socket, OfUnknownLevelIsNotWaitedFor) {
  level_.reset();
  SocketRoom room = make();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(send(room, 64), 64U);
}

}  // namespace
}  // namespace nerve::host
