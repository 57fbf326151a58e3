#include <algorithm>
#include <vector>

#include "base/prng.h"
#include "tests/nic/dma_engine/dma_fixture.h"
#include "tests/nic/dma_engine/ports.h"
#include "tests/seeds.h"

namespace nerve::nic {

using enum Access;

namespace {

void fill(Prng& prng, MutableBytes bytes) {
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
}

wire::Piece piece_of(Bytes bytes) {
  return {address_of(bytes.data()), static_cast<std::uint32_t>(bytes.size()), nullptr};
}

}  // namespace

class GatherScatter : public DmaTest {
 protected:
  [[nodiscard]] Sge sge(std::size_t at, std::uint32_t length, LKey local) const {
    return {address_of(buffer.data()) + at, length, local};
  }
  LKey key{lkey(add_region())};
  TxBurst burst{4};
};

TEST_F(GatherScatter, GatherRefersToThePartsInOrder) {
  const std::array list{sge(0, 10, key), sge(100, 0, LKey{0xbad}), sge(200, 10, key)};
  burst.add();
  ASSERT_EQ(dma.gather(list, 5, 10, pd, burst), Gathered::kDone);
  const wire::Frame& frame = burst.frames()[0];
  ASSERT_EQ(frame.payload.size(), 2U);
  EXPECT_EQ(frame.payload[0].address, address_of(&buffer[5]));
  EXPECT_EQ(frame.payload[0].length, 5U);
  EXPECT_EQ(frame.payload[1].address, address_of(&buffer[200]));
  EXPECT_EQ(frame.payload[1].length, 5U);
  EXPECT_EQ(frame.payload_length, 10U);
}

TEST_F(GatherScatter, GatherOfNothingChecksNothing) {
  const std::array list{sge(0, 10, LKey{0xbad})};
  burst.add();
  EXPECT_EQ(dma.gather(list, 0, 0, pd, burst), Gathered::kDone);
  EXPECT_EQ(dma.gather({}, 0, 0, pd, burst), Gathered::kDone);
  EXPECT_TRUE(burst.frames()[0].payload.empty());
}

TEST_F(GatherScatter, AFailedGatherLeavesTheFrameAsItWas) {
  const std::array list{sge(0, 10, key), sge(20, 10, LKey{0xbad})};
  burst.add();
  ASSERT_EQ(dma.gather(list, 0, 4, pd, burst), Gathered::kDone);
  EXPECT_EQ(dma.gather(list, 4, 10, pd, burst), Gathered::kFault);
  EXPECT_EQ(dma.gather(list, 0, 21, pd, burst), Gathered::kFault);
  EXPECT_EQ(dma.gather({}, 0, 1, pd, burst), Gathered::kFault);
  EXPECT_EQ(dma.gather(std::span{list}.first(1), 4, 7, pd, burst), Gathered::kFault);
  const wire::Frame& frame = burst.frames()[0];
  EXPECT_EQ(frame.payload.size(), 1U);
  EXPECT_EQ(frame.payload_length, 4U);
  ASSERT_EQ(dma.gather(list, 4, 6, pd, burst), Gathered::kDone);
  EXPECT_EQ(burst.frames()[0].payload.size(), 2U);
  EXPECT_EQ(burst.frames()[0].payload[1].address, address_of(&buffer[4]));
}

TEST_F(GatherScatter, GatherNeedsNoRightAndScatterLocalWrite) {
  const LKey read_only = lkey(add_region(whole_buffer(kNone)));
  const std::array list{sge(0, 8, read_only)};
  const std::array<std::byte, 8> bytes{};
  const std::array payload{piece_of(bytes)};
  burst.add();
  EXPECT_EQ(dma.gather(list, 0, 8, pd, burst), Gathered::kDone);
  EXPECT_EQ(dma.scatter(list, 0, payload, pd).error(), AccessFault::kNotPermitted);
}

TEST_F(GatherScatter, AFailedScatterMovesNothing) {
  std::array<std::byte, 16> bytes{};
  bytes.fill(std::byte{0xee});
  const std::array payload{piece_of(bytes)};
  const auto fault = [&](std::span<const Sge> list, std::uint64_t offset = 0) {
    const auto done = dma.scatter(list, offset, payload, pd);
    EXPECT_FALSE(done);
    for (const std::byte byte : buffer) EXPECT_EQ(byte, std::byte{0});
    return done ? AccessFault{} : done.error();
  };
  const Sge good = sge(0, 8, key);
  EXPECT_EQ(fault(std::array{good, sge(8, 8, LKey{0xbad})}), AccessFault::kNoSuchKey);
  EXPECT_EQ(fault(std::array{good, sge(8, 7, key)}), AccessFault::kOutOfBounds);
  EXPECT_EQ(fault(std::array{good, sge(4089, 8, key)}), AccessFault::kOutOfBounds);
  EXPECT_EQ(fault(std::array{good}), AccessFault::kOutOfBounds);
  EXPECT_EQ(fault(std::array{sge(0, 20, key)}, 5), AccessFault::kOutOfBounds);
  EXPECT_EQ(fault(std::array{sge(0, 20, key)}, ~std::uint64_t{0} - 4), AccessFault::kOutOfBounds);
  EXPECT_EQ(fault({}), AccessFault::kOutOfBounds);
}

TEST_F(GatherScatter, OnlyThePartThatIsTouchedIsChecked) {
  const std::array<std::byte, 16> bytes{std::byte{1}};
  const std::array payload{piece_of(bytes)};
  EXPECT_TRUE(dma.scatter(std::array{sge(4080, 1000, key)}, 0, payload, pd));
  EXPECT_EQ(buffer[4080], std::byte{1});
  EXPECT_FALSE(dma.scatter(std::array{sge(4081, 1000, key)}, 0, payload, pd));
}

TEST_F(GatherScatter, AnElementThatWrapsReachesNothing) {
  MrInit init = whole_buffer(kLocalWrite | kZeroBased);
  const LKey zero_based = lkey(add_region(init));
  const Sge wraps{~std::uint64_t{0} - 9, 100, zero_based};  // its byte 10 would be address 0
  const std::array<std::byte, 8> bytes{};
  const std::array payload{piece_of(bytes)};
  EXPECT_EQ(dma.scatter(std::array{wraps}, 10, payload, pd).error(), AccessFault::kOutOfBounds);
  EXPECT_EQ(dma.scatter(std::array{wraps, wraps}, 10, payload, pd).error(),
            AccessFault::kOutOfBounds);
  burst.add();
  EXPECT_EQ(dma.gather(std::array{wraps}, 10, 8, pd, burst), Gathered::kFault);
  EXPECT_TRUE(dma.scatter(std::array{wraps}, 10, {}, pd));
}

TEST_F(GatherScatter, PlaceMovesBetweenOverlappingRanges) {
  for (std::size_t i = 0; i < 64; ++i) buffer[i] = static_cast<std::byte>(i);
  const std::array payload{piece_of(Bytes{buffer}.first(60))};
  DmaEngine::place({address_of(&buffer[4]), 60, nullptr}, payload);
  for (std::size_t i = 0; i < 60; ++i) ASSERT_EQ(buffer[i + 4], static_cast<std::byte>(i));
  DmaEngine::place({}, {});
  DmaEngine::place({}, std::array{wire::Piece{}});
}

TEST_F(GatherScatter, MemoryWithoutContentsStaysOutOfIt) {
  test::VoidPort port;
  const MrInit init{.pd = pd, .address = 0, .length = 1U << 20, .access = kAll, .port = &port};
  const LKey nothing = lkey(add_region(init));
  buffer.fill(std::byte{0x5a});
  const auto before = buffer;
  // From, to, and between memory without contents.
  const std::array from_nothing{wire::Piece{0, 100, &port}};
  const std::array from_host{piece_of(Bytes{buffer}.first(100))};
  EXPECT_TRUE(dma.scatter(std::array{sge(0, 100, key)}, 0, from_nothing, pd));
  EXPECT_TRUE(dma.scatter(std::array{Sge{64, 100, nothing}}, 0, from_host, pd));
  EXPECT_TRUE(dma.scatter(std::array{Sge{64, 100, nothing}}, 0, from_nothing, pd));
  EXPECT_EQ(buffer, before);
  // Lengths and bounds are still checked.
  burst.add();
  EXPECT_EQ(dma.gather(std::array{Sge{0, 1U << 20, nothing}}, 0, 4096, pd, burst), Gathered::kDone);
  EXPECT_EQ(burst.frames()[0].payload_length, 4096U);
  EXPECT_EQ(dma.gather(std::array{Sge{1, 1U << 20, nothing}}, 0, 1U << 20, pd, burst),
            Gathered::kFault);
}

// Memory of a random kind, split into a list that visits its bytes in a random order.
struct ShapedMemory {
  static constexpr std::uint64_t kGpuBase = 0x7000'0000'0000;

  ShapedMemory(DmaEngine& dma, PdHandle pd, Prng& prng)
      : host(prng.between(1, 8192)), gpu{kGpuBase, host.size()}, on_gpu{prng.chance(400)} {
    const std::uint64_t iova = prng.chance(500) ? prng.next() >> 1 : address_of(host.data());
    const Access zero_based = prng.chance(300) ? kZeroBased : kNone;
    const auto mr = dma.register_region({.pd = pd,
                                         .address = on_gpu ? kGpuBase : address_of(host.data()),
                                         .length = host.size(),
                                         .iova = iova,
                                         .access = kLocalWrite | zero_based,
                                         .port = on_gpu ? &gpu : nullptr});
    const LKey key = dma.keys_of(*mr)->lkey;
    const std::uint64_t start = zero_based == kZeroBased ? 0 : iova;
    std::size_t at = 0;
    while (at < host.size() && list.size() < 30) {
      if (prng.chance(150)) list.push_back({prng.next(), 0, LKey{0xbad}});
      const std::uint64_t room = host.size() - at;
      const auto length = static_cast<std::uint32_t>(
          prng.chance(300) ? prng.between(1, std::min<std::uint64_t>(room, 9))
                           : prng.between(1, room));
      list.push_back({start + at, length, key});
      at += length + (prng.chance(300) ? prng.below(4) : 0);  // gaps must stay untouched
      total += length;
      if (prng.chance(100)) break;
    }
    // The parts may be listed in any order.
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[prng.below(i)]);
    start_ = start;
  }

  [[nodiscard]] std::vector<std::byte>& contents() { return on_gpu ? gpu.memory : host; }
  // Reads the list byte by byte, for comparison.
  [[nodiscard]] std::byte& byte(std::uint64_t offset) {
    for (const Sge& part : list) {
      if (offset < part.length) return contents()[part.address - start_ + offset];
      offset -= part.length;
    }
    CHECK(false);
    return contents()[0];
  }

  std::vector<std::byte> host;
  test::FakeGpu gpu;
  bool on_gpu;
  std::vector<Sge> list;
  std::uint64_t total{};

 private:
  std::uint64_t start_{};
};

// Data gathered packet by packet and scattered again arrives unchanged, modifies nothing else, and
// equals the list read byte by byte.
TEST(GatherScatterBySeed, ScatterAfterGatherIsTheIdentity) {
  test::for_each_seed(2000, [](std::uint64_t seed) {
    Prng prng{seed};
    DmaEngine dma{Limits{}, SipKey{seed, 1}};
    const PdHandle pd = *dma.alloc_pd();
    ShapedMemory from{dma, pd, prng};
    ShapedMemory to{dma, pd, prng};
    fill(prng, from.contents());
    fill(prng, to.contents());
    std::vector<std::byte> expected = to.contents();

    const std::uint64_t length = prng.between(0, std::min(from.total, to.total));
    const std::uint64_t from_offset = prng.between(0, from.total - length);
    const std::uint64_t to_offset = prng.between(0, to.total - length);
    const std::uint64_t mtu = prng.between(1, 4096);
    TxBurst burst{2};
    for (std::uint64_t done = 0; done < length;) {
      const auto step = static_cast<std::uint32_t>(std::min(mtu, length - done));
      burst.clear();
      const wire::Frame& frame = burst.add();
      ASSERT_EQ(dma.gather(from.list, from_offset + done, step, pd, burst), Gathered::kDone);
      ASSERT_EQ(frame.payload_length, step);
      ASSERT_TRUE(dma.scatter(to.list, to_offset + done, frame.payload, pd));
      done += step;
    }
    for (std::uint64_t i = 0; i < length; ++i) {
      std::byte& there = to.byte(to_offset + i);
      ASSERT_EQ(there, from.byte(from_offset + i)) << "byte " << i;
      expected[static_cast<std::size_t>(&there - to.contents().data())] = there;
    }
    EXPECT_EQ(to.contents(), expected) << "a byte outside of the list was touched";

    // One byte more than the list holds is an error and moves nothing.
    burst.clear();
    burst.add();
    EXPECT_EQ(dma.gather(from.list, from.total - 1, 2, pd, burst), Gathered::kFault);
    const std::array<std::byte, 2> two{};
    EXPECT_EQ(dma.scatter(to.list, to.total - 1, std::array{piece_of(two)}, pd).error(),
              AccessFault::kOutOfBounds);
    EXPECT_EQ(to.contents(), expected);
  });
}

TEST(GatherScatterBySeed, PlaceMovesBetweenAllKindsOfMemory) {
  test::for_each_seed(500, [](std::uint64_t seed) {
    Prng prng{seed};
    constexpr std::uint64_t kBase = 0x1000;
    std::vector<std::byte> host(8192);
    test::FakeGpu source{kBase, 8192};
    test::FakeGpu target{kBase, 8192};
    fill(prng, source.memory);
    fill(prng, host);
    std::vector<wire::Piece> payload;
    std::vector<std::byte> expected;
    for (std::uint64_t n = prng.below(5); n > 0; --n) {
      const auto length = static_cast<std::uint32_t>(prng.below(1600));
      const std::uint64_t at = prng.below(4096);
      const bool from_gpu = prng.chance(500);
      const std::vector<std::byte>& memory = from_gpu ? source.memory : host;
      payload.push_back(from_gpu ? wire::Piece{kBase + at, length, &source}
                                 : wire::Piece{address_of(host.data()) + at, length, nullptr});
      const auto first = memory.begin() + static_cast<std::ptrdiff_t>(at);
      expected.insert(expected.end(), first, first + length);
    }
    const auto length = static_cast<std::uint32_t>(expected.size());
    std::vector<std::byte> plain(length);
    DmaEngine::place({address_of(plain.data()), length, nullptr}, payload);
    EXPECT_EQ(plain, expected);
    DmaEngine::place({kBase + 100, length, &target}, payload);
    const auto first = target.memory.begin() + 100;
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), first));
  });
}

}  // namespace nerve::nic
