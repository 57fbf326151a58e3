// Goal: no byte that the other process writes into a ring can do more than break the ring. Method:
// each field wrong in turn, then random bytes; the sink reads all payload, so that AddressSanitizer
// detects accesses outside.
#include <gtest/gtest.h>

#include "link/shm/ring_reader.h"
#include "link/shm/ring_writer.h"
#include "tests/link/shm/ring_world.h"
#include "tests/seeds.h"

namespace nerve::link::shm {
namespace {

constexpr RingSize kSmall{.slots = 64, .data_bytes = 32 * 1024};

// A ring in heap memory of exactly its size, so that accesses outside are detected.
struct HeapRing {
  HeapRing() { CHECK(format_ring(memory(), kSmall).has_value()); }
  MutableBytes memory() { return {bytes.get(), kSmall.bytes()}; }
  std::byte* slot(std::size_t index) { return bytes.get() + kHeaderPage + index * kLine; }
  void store(std::size_t at, std::uint64_t value) { std::memcpy(bytes.get() + at, &value, 8); }
  void commit(std::size_t index, const Commit& commit) {
    const std::uint64_t word = commit.pack();
    std::memcpy(slot(index), &word, sizeof word);
  }

  struct Free {
    void operator()(std::byte* at) const { std::free(at); }
  };
  std::unique_ptr<std::byte, Free> bytes{[] {
    auto* at = static_cast<std::byte*>(std::aligned_alloc(kLine, kSmall.bytes()));
    std::memset(at, 0, kSmall.bytes());
    return at;
  }()};
};

constexpr auto kFrameKind = static_cast<std::uint8_t>(SlotKind::kFrame);
constexpr auto kBytesKind = static_cast<std::uint8_t>(SlotKind::kBytes);
constexpr auto kRunKind = static_cast<std::uint8_t>(SlotKind::kRun);

struct Bad {
  const char* what;
  Commit commit;
};
constexpr Bad kBad[] = {
    {"a turn that is not due", {.turn = 3, .length = 0, .flow = 0, .kind = kFrameKind}},
    {"no kind", {.turn = 2, .length = 0, .flow = 0, .kind = 0}},
    {"an unknown kind", {.turn = 2, .length = 0, .flow = 0, .kind = 6}},
    {"too long", {.turn = 2, .length = kMaxBytes + 1, .flow = 0, .kind = kFrameKind}},
    {"too long a packet", {.turn = 2, .length = kMaxBytes + 1, .flow = 0, .kind = kBytesKind}},
    {"no such flow", {.turn = 2, .length = 0, .flow = kFlows, .kind = kFrameKind}},
    {"a flow that was not announced", {.turn = 2, .length = 0, .flow = 7, .kind = kFrameKind}},
    {"a packet of no flow", {.turn = 2, .length = 0, .flow = 7, .kind = kBytesKind}},
    {"a run of no flow", {.turn = 2, .length = 64, .flow = 7, .kind = kRunKind}},
    {"a run of nothing", {.turn = 2, .length = 64, .flow = 0, .kind = kRunKind}},
};

TEST(HostileRing, ABadSlotBreaksTheRing) {
  for (const Bad& bad : kBad) {
    SCOPED_TRACE(bad.what);
    HeapRing ring;
    ring.commit(0, {.turn = 1, .kind = static_cast<std::uint8_t>(SlotKind::kFlow)});
    ring.commit(1, bad.commit);
    RingReader reader{ring.memory(), kSmall};
    KeepingSink sink;
    EXPECT_EQ(reader.receive(sink, 10, {}), 0U);
    EXPECT_EQ(reader.state(), RingReader::State::kBroken);
    EXPECT_EQ(reader.counters().broken, 1U);
    ring.commit(1, {.turn = 2, .length = 0, .flow = 0, .kind = kFrameKind});
    EXPECT_EQ(reader.receive(sink, 10, {}), 0U);
    EXPECT_FALSE(reader.pending());
    EXPECT_EQ(reader.counters().broken, 1U);
  }
}

TEST(HostileRing, ABadRunBreaksTheRing) {
  struct {
    const char* what;
    std::uint16_t length;
    std::uint32_t count;
    wire::Operation operation;
  } const bad_runs[] = {
      {"frames without payload", 0, 2, wire::Operation::kWriteMiddle},
      {"frames that are too long", kMaxPayload + 1, 2, wire::Operation::kWriteMiddle},
      {"too many frames", 64, kMaxRunFrames + 1, wire::Operation::kWriteMiddle},
      {"more than there can be", 64, 0xffff'ffff, wire::Operation::kWriteMiddle},
      {"too much payload", kMaxPayload, 5, wire::Operation::kWriteMiddle},
      {"headers that are longer", 64, 2, wire::Operation::kWriteFirst},
  };
  for (const auto& bad : bad_runs) {
    SCOPED_TRACE(bad.what);
    HeapRing ring;
    ring.commit(0, {.turn = 1, .kind = static_cast<std::uint8_t>(SlotKind::kFlow)});
    wire::Headers headers;
    headers.bth.opcode = wire::opcode(wire::Transport::kRc, bad.operation);
    headers.encode({ring.slot(1) + kCommitSize, kSlotRoom});
    std::memcpy(ring.slot(1) + kCommitSize + kRunCountAt, &bad.count, sizeof bad.count);
    ring.commit(1, {.turn = 2, .length = bad.length, .flow = 0, .kind = kRunKind});
    RingReader reader{ring.memory(), kSmall};
    KeepingSink sink;
    EXPECT_EQ(reader.receive(sink, 10, {}), 0U);
    EXPECT_EQ(reader.state(), RingReader::State::kBroken);
  }
}

TEST(HostileRing, UncommittedSlotsAreNotRead) {
  HeapRing ring;
  RingReader reader{ring.memory(), kSmall};
  std::memset(ring.slot(0) + kCommitSize, 0xff, kSlotRoom);  // the writer died here
  KeepingSink sink;
  EXPECT_FALSE(reader.pending());
  EXPECT_EQ(reader.receive(sink, 10, {}), 0U);
  EXPECT_EQ(reader.state(), RingReader::State::kGood);
}

TEST(HostileRing, AnImpossibleReaderPositionStopsTheWriter) {
  for (const std::size_t word : {kSlotsDoneAt, kDataDoneAt}) {
    for (const std::uint64_t claim : {std::uint64_t{1} << 20, ~std::uint64_t{0}}) {
      HeapRing ring;
      RingWriter writer{ring.memory(), kSmall};
      ring.store(word, claim);
      EXPECT_EQ(writer.room(), 0U);
      EXPECT_TRUE(writer.broken());
      const wire::Frame frame = write_only({});
      writer.send({&frame, 1}, {});
      EXPECT_EQ(writer.counters().dropped, 1U);
    }
  }
}

TEST(HostileRing, RandomBytesCauseNoAccessOutside) {
  test::for_each_seed(500, [](std::uint64_t seed) {
    HeapRing ring;
    RingWriter writer{ring.memory(), kSmall};
    RingReader reader{ring.memory(), kSmall};
    FrameMaker maker{seed};
    Prng& prng = maker.prng();
    KeepingSink sink;
    for (int step = 0; step < 200; ++step) {
      const wire::Frame frame =
          maker.make(static_cast<std::uint32_t>(prng.between(0, kMaxPayload)));
      writer.send({&frame, 1}, {});
      if (prng.chance(200)) writer.send(maker.make_run(6, 1024), {});
      if (prng.chance(100)) {  // a plausible commit word, sometimes in the right place
        ring.commit(prng.below(kSmall.slots), {.turn = static_cast<std::uint32_t>(prng.below(200)),
                                               .length = static_cast<std::uint16_t>(prng.next()),
                                               .flow = static_cast<std::uint8_t>(prng.below(70)),
                                               .kind = static_cast<std::uint8_t>(prng.below(6))});
      }
      if (prng.chance(50)) ring.store(8 * prng.below(kSmall.bytes() / 8), prng.next());
      if (prng.chance(300)) reader.receive(sink, 10, {});
      sink.kept.clear();
    }
  });
}

TEST(HostileRing, InvalidHeadersAreRefused) {
  HeapRing ring;
  EXPECT_EQ(*inspect_ring(ring.memory()), kSmall);
  EXPECT_EQ(inspect_ring(ring.memory().first(100)).error(), RingError::kTooSmall);
  EXPECT_EQ(inspect_ring(ring.memory().first(kSmall.bytes() - 1)).error(), RingError::kTooSmall);
  EXPECT_EQ(inspect_ring(ring.memory().subspan(8)).error(), RingError::kMisaligned);
  const auto with = [&](std::uint32_t slots, std::uint32_t data) {
    ring.store(kSlotsAt, std::uint64_t{data} << 32U | slots);
    return inspect_ring(ring.memory()).error();
  };
  EXPECT_EQ(with(128, 32 * 1024), RingError::kTooSmall);
  EXPECT_EQ(with(63, 32 * 1024), RingError::kBadSize);
  EXPECT_EQ(with(0, 32 * 1024), RingError::kBadSize);
  EXPECT_EQ(with(64, 0), RingError::kBadSize);
  EXPECT_EQ(with(64, ~0U), RingError::kBadSize);
  EXPECT_EQ(with(1U << 31U, 32 * 1024), RingError::kBadSize);
  ring.store(kMagicAt, 1);
  EXPECT_EQ(inspect_ring(ring.memory()).error(), RingError::kForeign);
}

}  // namespace
}  // namespace nerve::link::shm
