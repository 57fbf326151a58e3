// Any packets may reach a session, at any point of its handshake, and a receiver of datagrams: they
// take only frames that their peer sealed, and nothing that a stranger sends keeps two sessions
// from opening.
//
// The input is a list of packets: two bytes of length and one that says which side gets it, and
// whether the peer's last packet replaces its beginning. Between them the two sides talk.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "seal/datagram.h"
#include "seal/session.h"
#include "tests/seal/toy_crypto.h"

namespace {

using namespace nerve;
using namespace nerve::seal;

constexpr wire::Gid kGids[] = {wire::Gid::ipv4(10, 0, 0, 1), wire::Gid::ipv4(10, 0, 0, 2)};

class World {
 public:
  void run(Bytes input) {
    while (input.size() >= 3) {
      const std::size_t size = std::min<std::size_t>(load_be<2>(input, 0), input.size() - 3);
      const auto choice = std::to_integer<unsigned>(input[2]);
      const Bytes bytes = input.subspan(3, size);
      input = input.subspan(3 + size);
      std::vector<std::byte> packet{bytes.begin(), bytes.end()};
      const std::size_t to = choice & 1U;
      if ((choice & 2U) != 0) {
        std::copy_n(last_[to].begin(), std::min(last_[to].size(), packet.size()), packet.begin());
      }
      if ((choice & 4U) != 0 && !packet.empty()) packet.back() ^= std::byte{1};
      hand(to, packet);
      if ((choice & 8U) != 0) talk();
    }
    for (int i = 0; i < 40; ++i) talk();
    CHECK(sessions_[0].is_open() && sessions_[1].is_open());
    CHECK(ledger_.violations.empty());
  }

 private:
  [[nodiscard]] static SessionSetup setup(std::size_t end) {
    const Endpoint ends[] = {{.gid = kGids[0], .qpn = Qpn{7}}, {.gid = kGids[1], .qpn = Qpn{9}}};
    return {.own = ends[end],
            .peer = ends[1 - end],
            .credentials = Preshared{},
            .suites = {Suite::kAes128Gcm}};
  }

  void hand(std::size_t to, std::vector<std::byte> packet) {
    wire::Frame frame;
    wire::Piece piece;
    const wire::Flow flow{.source = kGids[1 - to], .destination = kGids[to]};
    // Neither side seals a frame here.
    std::vector<std::byte> copy = packet;
    CHECK(datagrams_.receive(secret_, flow, copy, now_, frame, piece) != Opening::kGood);
    CHECK(sessions_[to].receive(flow, packet, now_, frame, piece) != Opening::kGood);
  }

  void talk() {
    now_ += std::chrono::milliseconds{100};
    for (std::size_t from = 0; from < 2; ++from) {
      std::vector<std::byte> packet(Session::kMaxPacket);
      packet.resize(sessions_[from].next_packet(now_, packet));
      if (packet.empty()) continue;
      last_[1 - from] = packet;
      hand(1 - from, packet);
    }
  }

  Time now_{std::chrono::seconds{1}};
  ToyLedger ledger_;
  ToyCrypto crypto_{1, ledger_};
  ChainSecret secret_;
  DatagramReceiver datagrams_{crypto_, 0x1e};
  Session sessions_[2]{Session{crypto_, setup(0), now_}, Session{crypto_, setup(1), now_}};
  std::vector<std::byte> last_[2];
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World{}.run(std::as_bytes(std::span{data, size}));
  return 0;
}
