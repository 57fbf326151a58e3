// Goal: a held packet comes back unchanged although its memory is gone, and is reported once.
// Method: small cases with host memory and with memory without contents.
#include "nic/qp_context/held_packets.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "tests/nic/dma_engine/ports.h"

namespace nerve::nic {
namespace {

constexpr std::uint32_t kMtu = 256;

wire::Frame frame(Psn psn, std::span<const wire::Piece> payload) {
  wire::Frame made;
  made.headers.bth.psn = psn;
  made.headers.immediate = psn.value();
  made.payload = payload;
  for (const wire::Piece& piece : payload) made.payload_length += piece.length;
  return made;
}

TEST(HeldPackets, CopiesContents) {
  HeldPackets held{8};
  std::vector<std::byte> bytes(200);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  const auto at = reinterpret_cast<std::uint64_t>(bytes.data());
  const wire::Piece pieces[]{{at, 150}, {at + 150, 50}};
  held.keep(frame(Psn{5}, pieces), kMtu);
  held.keep(frame(Psn{6}, {}), kMtu);
  std::ranges::fill(bytes, std::byte{0xee});
  ASSERT_TRUE(held.has(Psn{5}));
  const auto back = held.take(Psn{5});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->headers.immediate, 5U);
  ASSERT_EQ(back->payload_length, 200U);
  ASSERT_EQ(back->payload.size(), 1U);
  const auto* got = reinterpret_cast<const std::byte*>(back->payload[0].address);
  for (std::size_t i = 0; i < 200; ++i) ASSERT_EQ(got[i], static_cast<std::byte>(i));
  EXPECT_FALSE(held.has(Psn{5}));
  EXPECT_FALSE(held.take(Psn{5}));
  EXPECT_EQ(held.take(Psn{6})->payload_length, 0U);
}

TEST(HeldPackets, KeepsALengthWhereThereAreNoContents) {
  HeldPackets held{8};
  test::VoidPort nothing;
  const wire::Piece piece{.address = 0x1234, .length = 100, .port = &nothing};
  held.keep(frame(Psn{0xff'ffff}, {&piece, 1}), kMtu);
  const auto back = held.take(Psn{0xff'ffff});
  ASSERT_TRUE(back);
  EXPECT_EQ(back->payload_length, 100U);
  EXPECT_EQ(back->payload[0].port, &nothing);
}

TEST(HeldPackets, TellsOfEachOnceAndInTheOrderOfArrival) {
  HeldPackets held{4};
  for (const std::uint32_t psn : {3U, 1U, 2U}) {
    held.keep(frame(Psn{psn}, {}), kMtu);
    held.queue_report(Psn{psn});
    held.queue_report(Psn{psn});
  }
  (void)held.take(Psn{1});  // it was taken before it was reported
  EXPECT_EQ(held.next_report(), Psn{3});
  EXPECT_EQ(held.next_report(), Psn{2});
  EXPECT_FALSE(held.next_report());
  held.queue_report(Psn{3});
  EXPECT_TRUE(held.has_reports());
  EXPECT_EQ(held.next_report(), Psn{3});
}

// A slot is reused by the packet one window ahead, even if the report of the previous one is still
// queued.
TEST(HeldPackets, UsesItsPlacesAgain) {
  HeldPackets held{4};
  for (std::uint32_t psn = 1; psn < 100; ++psn) {
    held.keep(frame(Psn{psn}, {}), kMtu);
    held.queue_report(Psn{psn});
    EXPECT_FALSE(held.has(Psn{psn + 4}));
    if (psn % 3 == 0) {
      EXPECT_TRUE(held.next_report());
    }
    if (psn % 5 != 0) {
      EXPECT_TRUE(held.take(Psn{psn}));
    }
  }
  while (const auto psn = held.next_report()) EXPECT_TRUE(held.has(*psn));
}

}  // namespace
}  // namespace nerve::nic
