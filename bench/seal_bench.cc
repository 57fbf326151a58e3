// Sealing and opening a packet: what it costs beside the copy and the ICRC of a plain one.
#include <benchmark/benchmark.h>

#include <vector>

#include "host/seal/libcrypto.h"
#include "seal/incoming.h"
#include "seal/outgoing.h"

namespace nerve::seal {
namespace {

struct Packet {
  explicit Packet(std::size_t size) : payload(size) {
    piece = {.address = reinterpret_cast<std::uint64_t>(payload.data()),
             .length = static_cast<std::uint32_t>(size)};
    frame.flow = {.source = wire::Gid::ipv4(10, 0, 0, 1),
                  .destination = wire::Gid::ipv4(10, 0, 0, 2)};
    frame.headers.bth = {.opcode = wire::opcode(wire::Transport::kRc, wire::Operation::kSendOnly),
                         .dest_qp = Qpn{9}};
    frame.payload = {&piece, 1};
    frame.payload_length = piece.length;
    sealed.resize(sealed_size(frame));
  }
  std::vector<std::byte> payload;
  wire::Piece piece{};
  wire::Frame frame{};
  std::vector<std::byte> sealed;
};

void pass(Packet& packet, Outgoing& outgoing, Incoming& incoming, benchmark::State& state) {
  (void)outgoing.seal(packet.frame, Time{}, packet.sealed);
  wire::Frame frame;
  wire::Piece piece;
  if (incoming.open(packet.frame.flow, packet.sealed, Time{}, frame, piece) != Opening::kGood) {
    state.SkipWithError("the packet was not opened");
  }
}

void seal(benchmark::State& state) {
  Packet packet{static_cast<std::size_t>(state.range(0))};
  Outgoing outgoing{**host::Libcrypto::load(), static_cast<Suite>(state.range(1)), {}, 1};
  for (auto _ : state) {
    benchmark::DoNotOptimize(outgoing.seal(packet.frame, Time{}, packet.sealed));
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// Includes sealing the packet, which can be opened only once.
void seal_and_open(benchmark::State& state) {
  Packet packet{static_cast<std::size_t>(state.range(0))};
  Crypto& library = **host::Libcrypto::load();
  const auto suite = static_cast<Suite>(state.range(1));
  Outgoing outgoing{library, suite, {}, 1};
  Incoming incoming{library, suite, {}, 1};
  for (auto _ : state) {
    pass(packet, outgoing, incoming, state);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

// A new epoch with each packet, on both sides.
void change_keys(benchmark::State& state) {
  Packet packet{8};
  Crypto& library = **host::Libcrypto::load();
  const auto suite = static_cast<Suite>(state.range(0));
  Outgoing outgoing{library, suite, {}, 1};
  Incoming incoming{library, suite, {}, 1};
  outgoing.change_keys({.packets = 1}, Time{});
  for (auto _ : state) {
    pass(packet, outgoing, incoming, state);
  }
}

// Bytes, and suite: AES-128-GCM, AES-256-GCM, ChaCha20-Poly1305, AES-256-GMAC.
BENCHMARK(seal)->ArgsProduct({{8, 1024, 4096}, {1, 2, 3, 4}});
BENCHMARK(seal_and_open)->ArgsProduct({{8, 4096}, {1, 2, 3, 4}});
BENCHMARK(change_keys)->DenseRange(1, 4);

}  // namespace
}  // namespace nerve::seal

BENCHMARK_MAIN();
