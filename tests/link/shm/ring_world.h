// A ring in its own memory, random frames, and a sink that keeps what it receives.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "base/prng.h"
#include "link/link.h"
#include "link/shm/ring_layout.h"
#include "wire/frame.h"
#include "wire/opcode.h"
#include "wire/packet.h"

namespace nerve::link::shm {

// Shared memory, so that it also works with a forked child.
class RingMemory {
 public:
  explicit RingMemory(const RingSize& wanted = {}) : size{wanted} {
    void* const at =
        ::mmap(nullptr, size.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    memory = {static_cast<std::byte*>(at), size.bytes()};
    CHECK(format_ring(memory, size).has_value());
  }
  ~RingMemory() { ::munmap(memory.data(), memory.size()); }
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;

  RingSize size;
  MutableBytes memory;
};

struct Kept {
  wire::Flow flow;
  wire::Headers headers;
  std::vector<std::byte> payload;
  friend bool operator==(const Kept&, const Kept&) = default;
};

struct KeepingSink final : FrameSink {
  void deliver(std::span<const wire::Frame> frames, Time /*now*/) override {
    ++batches;
    for (const wire::Frame& frame : frames) {
      Kept one{.flow = frame.flow, .headers = frame.headers, .payload{}};
      for (const wire::Piece& piece : frame.payload) {
        const auto* from = reinterpret_cast<const std::byte*>(piece.address);
        one.payload.insert(one.payload.end(), from, from + piece.length);
      }
      CHECK(one.payload.size() == frame.payload_length);
      kept.push_back(std::move(one));
    }
  }
  std::size_t batches{};
  std::vector<Kept> kept;
};

// Frames whose payload is in this object.
class FrameMaker {
 public:
  explicit FrameMaker(std::uint64_t seed) : prng_{seed}, memory_(kMaxRunFrames * kMaxPayload) {
    for (std::byte& byte : memory_) byte = static_cast<std::byte>(prng_.next());
  }

  Prng& prng() { return prng_; }

  // A frame with random headers of the table, and a payload of `length` bytes in one to three
  // pieces.
  wire::Frame make(std::uint32_t length) {
    wire::Frame frame;
    frame.flow = flow();
    frame.headers = headers();
    frame.payload_length = length;
    pieces_.clear();
    const auto start = reinterpret_cast<std::uint64_t>(memory_.data()) + prng_.below(kMaxPayload);
    const auto cut = static_cast<std::uint32_t>(prng_.between(0, length));
    pieces_.push_back({.address = start, .length = cut});
    pieces_.push_back({.address = start + cut, .length = length - cut});
    frame.payload = pieces_;
    return frame;
  }

  // The middle packets of a long message, as the engine makes them: `count` packets of `length`
  // bytes each, with contiguous payload. Valid until the next call.
  std::span<wire::Frame> make_run(std::uint32_t count, std::uint32_t length) {
    wire::Frame frame;
    frame.flow = flow();
    frame.headers.bth.opcode = wire::opcode(wire::Transport::kRc, wire::Operation::kWriteMiddle);
    frame.headers.bth.psn = Psn{static_cast<std::uint32_t>(prng_.next() & 0xff'ffffU)};
    frame.headers.bth.pad = wire::pad_for(length);
    frame.payload_length = length;
    run_.assign(count, frame);
    run_pieces_.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      run_pieces_[i] = {.address = reinterpret_cast<std::uint64_t>(memory_.data()) + i * length,
                        .length = length};
      run_[i].payload = {&run_pieces_[i], 1};
      run_[i].headers.bth.psn = frame.headers.bth.psn + i;
    }
    return run_;
  }

  static Kept kept(const wire::Frame& frame) {
    KeepingSink sink;
    sink.deliver({&frame, 1}, {});
    return sink.kept.front();
  }

 private:
  wire::Flow flow() {
    wire::Flow flow;
    flow.source = wire::Gid::ipv4(10, 0, 0, 1);
    flow.destination = wire::Gid::ipv4(10, 0, 0, static_cast<std::uint8_t>(prng_.below(4)));
    flow.source_port = static_cast<std::uint16_t>(0xc000 + prng_.below(16));
    flow.traffic_class = static_cast<std::uint8_t>(prng_.below(4));
    flow.flow_label = static_cast<std::uint32_t>(prng_.below(2));
    return flow;
  }
  // Encoded and decoded, so that only the fields that the opcode carries are set.
  wire::Headers headers() {
    std::array<std::byte, wire::kMaxHeadersSize> bytes;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng_.next());
    return *wire::Headers::decode(bytes);
  }

  Prng prng_;
  std::vector<std::byte> memory_;
  std::vector<wire::Piece> pieces_;
  std::vector<wire::Frame> run_;
  std::vector<wire::Piece> run_pieces_;
};

inline wire::Frame write_only(const std::vector<wire::Piece>& payload) {
  wire::Frame frame;
  frame.flow.destination = wire::Gid::ipv4(10, 0, 0, 2);
  frame.headers.bth.opcode = wire::opcode(wire::Transport::kRc, wire::Operation::kWriteOnly);
  frame.payload = payload;
  for (const wire::Piece& piece : payload) frame.payload_length += piece.length;
  frame.headers.bth.pad = wire::pad_for(frame.payload_length);
  return frame;
}

}  // namespace nerve::link::shm
