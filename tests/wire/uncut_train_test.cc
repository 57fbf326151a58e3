// Goal: a run of packets that was captured as one is decoded as separate packets. Method: runs of
// every shape, over both address families, assembled as the kernel holds them.
#include "wire/uncut_train.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace nerve::wire {
namespace {

// `count` SENDs of `length` bytes and a shorter one, as one packet behind one IP and UDP header.
struct Piled {
  Piled(bool ipv4, std::size_t count, std::uint32_t length, std::uint32_t last) : payload(length) {
    const std::byte far{2};
    flow.source = ipv4 ? Gid::ipv4(198, 51, 100, 1) : Gid{};
    flow.destination = ipv4 ? Gid::ipv4(198, 51, 100, 2) : Gid{};
    if (!ipv4) {
      flow.source.bytes[0] = flow.destination.bytes[0] = std::byte{0xfd};
      flow.destination.bytes[15] = far;
    }
    flow.source_port = 50'000;
    for (std::uint32_t i = 0; i < length; ++i) payload[i] = static_cast<std::byte>(i * 7);
    std::vector<std::byte> inner;
    for (std::size_t i = 0; i <= count; ++i) {
      const std::uint32_t size = i < count ? length : last;
      if (i == count && last == 0) break;
      Piece piece{.address = reinterpret_cast<std::uint64_t>(payload.data()), .length = size};
      Frame frame{.flow = flow, .payload = {&piece, 1}, .payload_length = size};
      frame.headers.bth.opcode = opcode(Transport::kRc, Operation::kSendOnly);
      frame.headers.bth.psn = Psn{static_cast<std::uint32_t>(i)};
      frame.headers.bth.pad = static_cast<std::uint8_t>(-size & 3U);
      const auto identification = static_cast<std::uint16_t>(kFirst + i);
      sizes.push_back(udp_payload_size(frame));
      inner.resize(inner.size() + sizes.back());
      encode_udp_payload(frame, {.identification = identification},
                         MutableBytes{inner}.last(sizes.back()));
    }
    bytes.resize(kMaxOuterSize + inner.size());
    bytes.resize(encode_packet(flow, {.identification = kFirst}, inner, bytes));
  }

  [[nodiscard]] std::optional<UncutTrain> train(std::size_t guess = 0) const {
    const auto whole = decode_packet(bytes);
    EXPECT_TRUE(whole && whole->icrc == IcrcVerdict::kBad);
    return UncutTrain::find(bytes, *whole, guess);
  }

  static constexpr std::uint16_t kFirst = 0xfffe;  // wraps within the run
  Flow flow{};
  std::vector<std::byte> payload;
  std::vector<std::size_t> sizes;
  std::vector<std::byte> bytes;
};

TEST(UncutTrain, IsCutWhereItsPacketsEnd) {
  for (const bool ipv4 : {true, false}) {
    for (const std::uint32_t length : {0U, 1U, 8U, 1023U, 1024U, 4096U}) {
      for (const std::uint32_t last : {0U, length / 2}) {
        const Piled piled{ipv4, 9, length, last};
        for (const std::size_t guess : {std::size_t{0}, piled.sizes[0], piled.sizes[0] + 4}) {
          const auto train = piled.train(guess);
          ASSERT_TRUE(train) << length;
          EXPECT_EQ(train->segment(), piled.sizes[0]);
          ASSERT_EQ(train->packets(), piled.sizes.size());
          for (std::size_t i = 0; i < train->packets(); ++i) {
            const auto packet = train->packet(i);
            ASSERT_TRUE(packet);
            EXPECT_EQ(packet->icrc, IcrcVerdict::kGood);
            EXPECT_EQ(packet->headers.bth.psn, Psn{static_cast<std::uint32_t>(i)});
            EXPECT_TRUE(std::ranges::equal(packet->payload,
                                           Bytes{piled.payload}.first(packet->payload.size())));
          }
        }
      }
    }
  }
}

TEST(UncutTrain, OnePacketThatWasDamagedIsNone) {
  Piled piled{true, 1, 1024, 0};
  piled.bytes[100] ^= std::byte{1};
  EXPECT_FALSE(piled.train());
}

TEST(UncutTrain, ADamagedPacketOfManyIsBadAlone) {
  Piled piled{true, 5, 1024, 0};
  piled.bytes[28 + 2 * piled.sizes[0] + 100] ^= std::byte{1};
  const auto train = piled.train();
  ASSERT_TRUE(train);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(train->packet(i)->icrc, i == 2 ? IcrcVerdict::kBad : IcrcVerdict::kGood);
  }
}

}  // namespace
}  // namespace nerve::wire
