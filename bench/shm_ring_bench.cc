// The cost of a shared-memory ring between two processes on two cores, compared with the limits of
// the machine: bouncing a cache line, memcpy.
//
//   nerve_shm_ring_bench [WORD]    only the lines whose name contains WORD
#include <array>
#include <cstring>
#include <string_view>

#include "bench/two_processes.h"
#include "link/shm/ring_reader.h"
#include "link/shm/ring_writer.h"
#include "nic/burst.h"
#include "wire/opcode.h"

namespace nerve::bench {
namespace {

using link::shm::Doorbell;
using link::shm::RingReader;
using link::shm::RingSize;
using link::shm::RingWriter;

constexpr std::size_t kMessage = 1 << 20;
constexpr std::uint32_t kMtu = 4096;

struct alignas(64) Line {
  std::atomic<std::uint64_t> value{};
};

std::string_view wanted;
bool selected(std::string_view what) { return what.find(wanted) != std::string_view::npos; }

struct Ring {
  explicit Ring(const RingSize& given = {}) : size{given}, memory{given.bytes()} {
    CHECK(link::shm::format_ring(memory.bytes, size).has_value());
  }
  RingSize size;
  SharedMemory memory;
};

wire::Frame write_frame(std::span<const wire::Piece> payload) {
  wire::Frame frame;
  frame.flow.destination = wire::Gid::ipv4(10, 0, 0, 2);
  frame.headers.bth.opcode = wire::opcode(wire::Transport::kRc, wire::Operation::kWriteOnly);
  frame.payload = payload;
  for (const wire::Piece& piece : payload) frame.payload_length += piece.length;
  return frame;
}

// Places payload contiguously, as the engine does; here cyclically in a buffer.
struct PlacingSink final : link::FrameSink {
  explicit PlacingSink(std::size_t bytes) : memory(bytes, std::byte{1}) {}
  void deliver(std::span<const wire::Frame> frames, Time /*now*/) override {
    for (const wire::Frame& frame : frames) {
      for (const wire::Piece& piece : frame.payload) {
        if (at + piece.length > memory.size()) at = 0;
        std::memcpy(memory.data() + at, reinterpret_cast<const std::byte*>(piece.address),
                    piece.length);
        at += piece.length;
      }
    }
    count += frames.size();
  }
  std::vector<std::byte> memory;
  std::size_t at{};
  std::uint64_t count{};
};

void memory_copy() {
  if (!selected("memcpy")) return;
  std::vector<std::byte> from(kMessage, std::byte{1});
  std::vector<std::byte> to(kMessage, std::byte{2});
  const auto each = seconds_each(50, 100, [&] {
    for (int i = 0; i < 100; ++i) {
      std::memcpy(to.data(), from.data(), kMessage);
      asm volatile("" ::: "memory");
    }
  });
  rate_line("memcpy, 1 MB to 1 MB", each, kMessage * 1e-9, "GB/s");
}

void line_bounce() {
  if (!selected("line")) return;
  SharedMemory memory{4096};
  auto& there = memory.as<Line>(0);
  auto& back = memory.as<Line>(128);
  const Peer peer{[&] {
    for (std::uint64_t n = 1;; ++n) {
      while (there.value.load(std::memory_order_acquire) != n) {
      }
      back.value.store(n, std::memory_order_release);
    }
  }};
  std::uint64_t n = 0;
  latency_line("one cache line bounced", seconds_each(30, 5000, [&] {
                 for (int i = 0; i < 5000; ++i) {
                   there.value.store(++n, std::memory_order_release);
                   while (back.value.load(std::memory_order_acquire) != n) {
                   }
                 }
               }));
}

enum class Bell : std::uint8_t { kNone, kPlain, kLight };

constexpr std::string_view name_of(Bell bell) {
  constexpr std::array<std::string_view, 3> kNames{"", ", plain doorbell", ", light doorbell"};
  return kNames[static_cast<std::size_t>(bell)];
}

// Both sides spin and never sleep.
Doorbell doorbell(Bell bell, SharedMemory& memory, std::size_t at) {
  if (bell == Bell::kNone) return {};
  return {.asleep = &memory.as<std::atomic<std::uint32_t>>(at), .light = bell == Bell::kLight};
}

void ring_latency(std::uint32_t length, Bell bell) {
  const std::string what =
      "ring latency, WRITE of " + std::to_string(length) + " bytes" + std::string{name_of(bell)};
  if (!selected(what)) return;
  Ring there;
  Ring back;
  SharedMemory common{4096};
  std::vector<std::byte> payload(length, std::byte{1});
  const std::vector<wire::Piece> pieces{
      {.address = reinterpret_cast<std::uint64_t>(payload.data()), .length = length}};
  const wire::Frame frame = write_frame(pieces);
  const Peer peer{[&] {
    RingReader reader{there.memory.bytes, there.size};
    RingWriter writer{back.memory.bytes, back.size, doorbell(bell, common, 0)};
    PlacingSink sink{kMessage};
    for (;;) {
      if (reader.receive(sink, 64, {}) > 0) writer.send({&frame, 1}, {});
    }
  }};
  RingWriter writer{there.memory.bytes, there.size, doorbell(bell, common, 256)};
  RingReader reader{back.memory.bytes, back.size};
  PlacingSink sink{kMessage};
  latency_line(what, seconds_each(30, 5000, [&] {
                 for (int i = 0; i < 5000; ++i) {
                   writer.send({&frame, 1}, {});
                   while (reader.receive(sink, 64, {}) == 0) {
                   }
                 }
               }));
}

// Sends `total` frames in bursts of `burst`, as the engine does; returns when all have arrived.
class OneWay {
 public:
  OneWay(const RingSize& size, std::uint32_t length, Bell bell)
      : ring_{size},
        common_{4096},
        arrived_{common_.as<Line>(0).value},
        source_(kMessage, std::byte{3}),
        length_{length},
        peer_{[this] { receive(); }},
        writer_{ring_.memory.bytes, ring_.size, doorbell(bell, common_, 256)} {}

  void send(std::uint64_t total, std::uint32_t burst_size) {
    for (std::uint64_t left = total; left > 0;) {
      const std::uint32_t granted =
          writer_.grant(static_cast<std::uint32_t>(std::min<std::uint64_t>(burst_size, left)));
      if (granted == 0) continue;
      fill(granted);
      writer_.send(burst_.frames(), {});
      left -= granted;
    }
    sent_ += total;
    while (arrived_.load(std::memory_order_acquire) != sent_) {
    }
    CHECK(writer_.counters().dropped == 0);
  }

 private:
  void fill(std::uint32_t count) {
    burst_.clear();
    const std::size_t bytes = std::size_t{count} * length_;
    if (at_ + bytes > source_.size()) at_ = 0;
    wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(source_.data()) + at_,
                      .length = length_};
    burst_.add() = write_frame({});
    burst_.add_piece(piece);
    piece.address += length_;
    burst_.repeat_last(count - 1, piece);
    at_ += bytes;
  }
  void receive() {
    RingReader reader{ring_.memory.bytes, ring_.size};
    PlacingSink sink{kMessage};
    for (;;) {
      if (reader.receive(sink, 256, {}) > 0) arrived_.store(sink.count, std::memory_order_release);
    }
  }

  Ring ring_;
  SharedMemory common_;
  std::atomic<std::uint64_t>& arrived_;
  std::vector<std::byte> source_;
  std::size_t at_{};
  std::uint32_t length_;
  nic::TxBurst burst_{256};
  std::uint64_t sent_{};
  Peer peer_;
  RingWriter writer_;
};

void ring_rate(std::uint32_t burst, Bell bell) {
  const std::string what =
      "ring rate, 8-byte WRITEs, bursts of " + std::to_string(burst) + std::string{name_of(bell)};
  if (!selected(what)) return;
  OneWay way{{}, 8, bell};
  constexpr std::uint64_t kCount = 20'000;
  rate_line(what, seconds_each(100, kCount, [&] { way.send(kCount, burst); }), 1e-6, "M/s");
}

void ring_bandwidth(const RingSize& size, std::uint32_t burst) {
  const std::string what = "ring bandwidth, 4096-byte frames, " +
                           std::to_string(size.data_bytes >> 10U) + " KB of data, bursts of " +
                           std::to_string(burst);
  if (!selected(what)) return;
  OneWay way{size, kMtu, Bell::kNone};
  constexpr std::uint64_t kCount = 16 * kMessage / kMtu;
  rate_line(what, seconds_each(30, kCount, [&] { way.send(kCount, burst); }), kMtu * 1e-9, "GB/s");
}

void run_all() {
  std::printf("%-58s %9s %9s\n", "", "best", "median");
  memory_copy();
  line_bounce();
  using enum Bell;
  for (const std::uint32_t length : {8U, 28U, 64U, 1024U, 4096U}) ring_latency(length, kNone);
  for (const Bell bell : {kPlain, kLight}) ring_latency(8, bell);
  for (const Bell bell : {kNone, kPlain, kLight}) {
    for (const std::uint32_t burst : {1U, 4U, 16U, 64U}) ring_rate(burst, bell);
  }
  for (const std::uint32_t data : {128U, 256U, 512U, 1024U, 2048U}) {
    ring_bandwidth({.slots = 4096, .data_bytes = data << 10U}, 16);
  }
  for (const std::uint32_t burst : {4U, 64U}) ring_bandwidth({}, burst);
}

}  // namespace
}  // namespace nerve::bench

int main(int argc, char** argv) {
  if (argc > 1) nerve::bench::wanted = argv[1];
  nerve::bench::run_all();
  return 0;
}
