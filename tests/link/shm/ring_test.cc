// Goal: frames arrive in order and intact, or are counted as dropped; and room() never promises too
// much. Method: seeded traffic through small rings, so that they wrap and fill.
#include <gtest/gtest.h>

#include <deque>

#include "link/shm/ring_reader.h"
#include "link/shm/ring_writer.h"
#include "tests/link/shm/ring_world.h"
#include "tests/seeds.h"

namespace nerve::link::shm {
namespace {

constexpr RingSize kSmall{.slots = 64, .data_bytes = 32 * 1024};

std::uint32_t some_length(Prng& prng) {
  switch (prng.below(4)) {
    case 0:
      return 0;
    case 1:
      return static_cast<std::uint32_t>(prng.below(64));
    case 2:
      return kMaxPayload;
    default:
      return static_cast<std::uint32_t>(prng.between(0, kMaxPayload));
  }
}

TEST(ShmRing, FramesArriveInOrderOrAreCountedAsDropped) {
  test::for_each_seed(100, [](std::uint64_t seed) {
    RingMemory ring{kSmall};
    RingWriter writer{ring.memory, ring.size};
    RingReader reader{ring.memory, ring.size};
    FrameMaker maker{seed};
    Prng& prng = maker.prng();
    std::deque<Kept> expected;
    std::uint64_t dropped = 0;
    for (int step = 0; step < 300; ++step) {
      if (prng.chance(600)) {
        const wire::Frame frame = maker.make(some_length(prng));
        writer.send({&frame, 1}, {});
        if (writer.counters().dropped == dropped) {
          expected.push_back(FrameMaker::kept(frame));
        } else {
          ++dropped;
        }
      } else {
        KeepingSink sink;
        const std::size_t count = reader.receive(sink, prng.between(1, 100), {});
        ASSERT_EQ(count, sink.kept.size());
        for (const Kept& got : sink.kept) {
          ASSERT_FALSE(expected.empty());
          ASSERT_EQ(got, expected.front());
          expected.pop_front();
        }
      }
      ASSERT_EQ(writer.counters().dropped, dropped);
      ASSERT_FALSE(writer.broken());
    }
    EXPECT_EQ(reader.pending(), !expected.empty());
    EXPECT_EQ(reader.state(), RingReader::State::kGood);
  });
}

TEST(ShmRing, GrantedFramesAreNotDropped) {
  test::for_each_seed(200, [](std::uint64_t seed) {
    RingMemory ring{kSmall};
    RingWriter writer{ring.memory, ring.size};
    RingReader reader{ring.memory, ring.size};
    FrameMaker maker{seed};
    Prng& prng = maker.prng();
    for (int step = 0; step < 100; ++step) {
      std::uint32_t granted = writer.grant(static_cast<std::uint32_t>(prng.below(4)));
      granted += writer.grant(static_cast<std::uint32_t>(prng.below(8)));
      ASSERT_LE(granted, writer.room());
      for (; granted > 0; --granted) {
        const wire::Frame frame = maker.make(prng.chance(700) ? kMaxPayload : some_length(prng));
        writer.send({&frame, 1}, {});
      }
      ASSERT_EQ(writer.counters().dropped, 0U);
      KeepingSink sink;
      if (prng.chance(500)) reader.receive(sink, prng.between(1, 8), {});
    }
  });
}

TEST(ShmRing, RunsArriveAsTheirFrames) {
  test::for_each_seed(200, [](std::uint64_t seed) {
    RingMemory ring{kSmall};
    RingWriter writer{ring.memory, ring.size};
    RingReader reader{ring.memory, ring.size};
    FrameMaker maker{seed};
    Prng& prng = maker.prng();
    std::deque<Kept> expected;
    for (int step = 0; step < 200; ++step) {
      const auto length = static_cast<std::uint32_t>(prng.between(1, kMaxPayload));
      const std::uint32_t granted = writer.grant(static_cast<std::uint32_t>(prng.below(70)));
      const std::span<wire::Frame> frames = maker.make_run(granted, length);
      if (granted > 0 && prng.chance(300)) {  // a different one
        wire::Frame& odd = frames[prng.below(granted)];
        if (prng.chance(300)) {
          odd.headers.bth.ack_request = true;
        } else if (prng.chance(300)) {
          odd.headers.bth.psn = odd.headers.bth.psn + 1;
        } else if (prng.chance(300)) {
          odd.flow.source_port ^= 1U;
        } else {
          odd.payload = {};
          odd.payload_length = 0;
        }
      }
      writer.send(frames, {});
      ASSERT_EQ(writer.counters().dropped, 0U);
      for (const wire::Frame& frame : frames) expected.push_back(FrameMaker::kept(frame));
      KeepingSink sink;
      if (prng.chance(600)) reader.receive(sink, prng.between(1, 100), {});
      for (const Kept& got : sink.kept) {
        ASSERT_EQ(got, expected.front());
        expected.pop_front();
      }
    }
    KeepingSink sink;
    reader.receive(sink, 10'000, {});
    EXPECT_EQ(sink.kept.size(), expected.size());
    EXPECT_EQ(reader.counters().frames, writer.counters().frames);
    EXPECT_EQ(reader.counters().bytes, writer.counters().bytes);
  });
}

TEST(ShmRing, FramesWhosePayloadWasPlacedAreMarked) {
  struct Marks : FrameSink {
    void deliver(std::span<const wire::Frame> frames, Time /*now*/) override {
      for (const wire::Frame& frame : frames) seen.push_back(frame.placed);
    }
    std::vector<bool> seen;
  };
  RingMemory ring{kSmall};
  RingWriter writer{ring.memory, ring.size};
  RingReader reader{ring.memory, ring.size};
  FrameMaker maker{1};
  for (const bool placed : {false, true, false}) {
    wire::Frame frame = maker.make(0);
    frame.placed = placed;
    writer.send({&frame, 1}, {});
  }
  Marks marks;
  EXPECT_EQ(reader.receive(marks, 10, {}), 3U);
  EXPECT_EQ(marks.seen, (std::vector<bool>{false, true, false}));
}

TEST(ShmRing, ARunTakesOneSlot) {
  RingMemory ring;
  RingWriter writer{ring.memory, ring.size};
  FrameMaker maker{1};
  const std::span<wire::Frame> frames = maker.make_run(18, 1024);
  writer.send(frames, {});
  // The flow, the first frame (whose flow was not known), and runs of 16 and 1.
  constexpr std::uint64_t kUsed = 4;
  EXPECT_EQ(
      Commit::unpack(shared_word(ring.memory.data() + kHeaderPage + (kUsed - 1) * kLine)).turn,
      kUsed);
  EXPECT_EQ(shared_word(ring.memory.data() + kHeaderPage + kUsed * kLine), 0U);
}

TEST(ShmRing, AGrantEndsWithTheSend) {
  RingMemory ring{kSmall};
  RingWriter writer{ring.memory, ring.size};
  const std::uint32_t room = writer.room();
  ASSERT_GT(room, 4U);
  EXPECT_EQ(writer.grant(room - 2), room - 2);
  EXPECT_EQ(writer.grant(5), 2U);
  EXPECT_EQ(writer.grant(5), 0U);
  EXPECT_TRUE(writer.grant_bare()) << "a frame without payload always finds a slot";
  writer.send({}, {});
  EXPECT_EQ(writer.grant(room + 1), room);
}

TEST(ShmRing, ASmallMessageIsOneCacheLine) {
  RingMemory ring;
  RingWriter writer{ring.memory, ring.size};
  std::uint64_t value = 0x1122334455667788;
  const std::vector<wire::Piece> payload{
      {.address = reinterpret_cast<std::uint64_t>(&value), .length = sizeof value}};
  const wire::Frame frame = write_only(payload);
  writer.send({&frame, 1}, {});  // announces its flow
  const std::vector<std::byte> before{ring.memory.begin(), ring.memory.end()};
  writer.send({&frame, 1}, {});
  const std::size_t slot = kHeaderPage + 2 * kLine;
  for (std::size_t at = 0; at < before.size(); ++at) {
    if (at < slot || at >= slot + kLine) {
      ASSERT_EQ(before[at], ring.memory[at]) << at;
    }
  }
}

TEST(ShmRing, ForgottenFlowsAreAnnouncedAgain) {
  RingMemory ring;
  RingWriter writer{ring.memory, ring.size};
  RingReader reader{ring.memory, ring.size};
  KeepingSink sink;
  for (std::uint16_t port = 0; port < 1000; ++port) {
    wire::Frame frame = write_only({});
    frame.flow.source_port = port;
    writer.send({&frame, 1}, {});
    reader.receive(sink, 1, {});
    ASSERT_EQ(sink.kept.size(), port + 1U);
    ASSERT_EQ(sink.kept.back().flow, frame.flow);
  }
}

TEST(ShmRing, BatchesEndAtTheBudget) {
  RingMemory ring;
  RingWriter writer{ring.memory, ring.size};
  RingReader reader{ring.memory, ring.size};
  const std::vector<wire::Frame> frames(200, write_only({}));
  writer.send(frames, {});
  KeepingSink sink;
  EXPECT_EQ(reader.receive(sink, 0, {}), 0U);
  EXPECT_EQ(reader.receive(sink, 70, {}), 70U);
  EXPECT_EQ(sink.batches, 2U);
  EXPECT_EQ(reader.receive(sink, 1000, {}), 130U);
  EXPECT_EQ(reader.receive(sink, 1000, {}), 0U);
}

TEST(ShmRing, AReaderThatIsGoneFillsTheRing) {
  RingMemory ring{kSmall};
  RingWriter writer{ring.memory, ring.size};
  const std::vector<wire::Frame> frames(kSmall.slots * 2, write_only({}));
  writer.send(frames, {});
  EXPECT_EQ(writer.room(), 0U);
  EXPECT_EQ(writer.grant(1), 0U);
  EXPECT_EQ(writer.counters().frames + writer.counters().dropped, frames.size());
  EXPECT_FALSE(writer.broken());
}

TEST(ShmRing, AnOversizedFrameIsDropped) {
  RingMemory ring;
  RingWriter writer{ring.memory, ring.size};
  RingReader reader{ring.memory, ring.size};
  std::vector<std::byte> large(kMaxBytes + 1);
  const std::vector<wire::Piece> payload{
      {.address = reinterpret_cast<std::uint64_t>(large.data()), .length = kMaxBytes + 1}};
  const wire::Frame frame = write_only(payload);
  writer.send({&frame, 1}, {});
  writer.send_bytes({}, std::vector<std::byte>(kMaxBytes + 1), {});
  EXPECT_EQ(writer.counters().dropped, 2U);
  EXPECT_FALSE(reader.pending());
}

// Memory behind a port: each byte read is derived from its address.
struct AddressPort final : MemoryPort {
  void read(std::uint64_t address, MutableBytes into) override {
    for (std::byte& byte : into) byte = static_cast<std::byte>(address++);
  }
  void write(std::uint64_t /*address*/, Bytes /*from*/) override {}
  std::uint64_t compare_swap(std::uint64_t, std::uint64_t, std::uint64_t) override { return 0; }
  std::uint64_t fetch_add(std::uint64_t, std::uint64_t) override { return 0; }
  void store_word(std::uint64_t, std::uint64_t) override {}
  [[nodiscard]] bool has_contents() const override { return contents; }
  bool contents{true};
};

TEST(ShmRing, PayloadBehindAPortIsRead) {
  RingMemory ring;
  RingWriter writer{ring.memory, ring.size};
  RingReader reader{ring.memory, ring.size};
  AddressPort port;
  AddressPort empty;
  empty.contents = false;
  const std::vector<wire::Piece> payload{{.address = 5, .length = 300, .port = &port},
                                         {.address = 5, .length = 20, .port = &empty}};
  const wire::Frame frame = write_only(payload);
  writer.send({&frame, 1}, {});
  KeepingSink sink;
  ASSERT_EQ(reader.receive(sink, 1, {}), 1U);
  std::vector<std::byte> expected(320);
  for (std::size_t i = 0; i < 300; ++i) expected[i] = static_cast<std::byte>(5 + i);
  EXPECT_EQ(sink.kept.front().payload, expected);
}

TEST(ShmRing, BytesAreCheckedByTheReader) {
  test::for_each_seed(100, [](std::uint64_t seed) {
    RingMemory ring;
    RingWriter writer{ring.memory, ring.size};
    RingReader reader{ring.memory, ring.size};
    FrameMaker maker{seed};
    wire::Frame frame = maker.make(some_length(maker.prng()));
    frame.headers.bth.pad = wire::pad_for(frame.payload_length);
    std::vector<std::byte> bytes(wire::udp_payload_size(frame));
    wire::encode_udp_payload(frame, {}, bytes);
    writer.send_bytes(frame.flow, bytes, {});
    bytes[bytes.size() - 1] ^= std::byte{1};
    writer.send_bytes(frame.flow, bytes, {});
    writer.send_bytes(frame.flow, Bytes{bytes}.first(3), {});
    writer.send_bytes(frame.flow, {}, {});
    writer.send({&frame, 1}, {});
    KeepingSink sink;
    EXPECT_EQ(reader.receive(sink, 10, {}), 2U);
    EXPECT_EQ(reader.counters().damaged, 3U);
    EXPECT_EQ(sink.kept, std::vector<Kept>(2, FrameMaker::kept(frame)));
  });
}

}  // namespace
}  // namespace nerve::link::shm
