// Sends packets that must be dropped: `hostile_sender PORT SECONDS SEED QPN...`.
//
// Floods the port over loopback with noise, truncations, oversized packets, bad ICRCs, and packets
// with a good ICRC and wrong contents: unknown QPs, opcodes of other transports or invalid ones, to
// the given QPs. Prints how many it sent.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "base/prng.h"
#include "wire/packet.h"

namespace {

using namespace nerve;

constexpr wire::Opcode kConnected = opcode(wire::Transport::kRc, wire::Operation::kSendOnly);
constexpr wire::Opcode kDatagram = opcode(wire::Transport::kUd, wire::Operation::kSendOnly);

class Sender {
 public:
  Sender(std::uint16_t port, std::uint64_t seed) : prng_{seed} {
    socket_ = ::socket(AF_INET, SOCK_DGRAM, 0);
    const int never_fragment = IP_PMTUDISC_DO;
    ::setsockopt(socket_, IPPROTO_IP, IP_MTU_DISCOVER, &never_fragment, sizeof never_fragment);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)::bind(socket_, reinterpret_cast<sockaddr*>(&own), sizeof own);
    socklen_t size = sizeof own;
    (void)::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size);
    flow_.source = flow_.destination = wire::Gid::ipv4(127, 0, 0, 1);
    flow_.source_port = ntohs(own.sin_port);
    to_ = own;
    to_.sin_port = htons(port);
  }

  void send_one(std::span<const std::uint32_t> qpns) {
    std::size_t size = 0;
    switch (prng_.below(6)) {
      case 0:  // noise
        size = prng_.below(2000);
        fill(size);
        break;
      case 1:  // truncated
        size = prng_.below(make(any_of(qpns), any_opcode()));
        break;
      case 2:  // as large as UDP allows
        size = 60'000 + prng_.below(5000);
        fill(size);
        break;
      case 3: {  // corrupted
        size = make(any_of(qpns), kConnected);
        bytes_[prng_.below(size)] ^= std::byte{0x10};
        break;
      }
      case 4:  // to a QP that does not exist
        size = make(static_cast<std::uint32_t>(prng_.next()) & Qpn::kMask, any_opcode());
        break;
      default:  // a datagram to a connection
        size = make(any_of(qpns), kDatagram);
        break;
    }
    (void)::sendto(socket_, bytes_.data(), size, MSG_DONTWAIT,
                   reinterpret_cast<const sockaddr*>(&to_), sizeof to_);
  }

 private:
  void fill(std::size_t size) {
    for (std::size_t i = 0; i < size; i += 16) bytes_[i] = static_cast<std::byte>(prng_.next());
  }
  std::uint32_t any_of(std::span<const std::uint32_t> qpns) {
    return qpns.empty() ? 0x4000U : qpns[prng_.below(qpns.size())];
  }
  wire::Opcode any_opcode() { return static_cast<wire::Opcode>(prng_.below(256)); }

  // A complete packet with a good ICRC; returns its size.
  std::size_t make(std::uint32_t qpn, wire::Opcode opcode) {
    wire::Frame frame;
    frame.flow = flow_;
    frame.headers.bth.opcode = wire::find_opcode(opcode) != nullptr ? opcode : kDatagram;
    frame.headers.bth.dest_qp = Qpn{qpn};
    frame.headers.bth.psn = Psn{static_cast<std::uint32_t>(prng_.next()) & 0xff'ffffU};
    return wire::encode_udp_payload(frame, {}, bytes_);
  }

  Prng prng_;
  int socket_{-1};
  wire::Flow flow_{};
  sockaddr_in to_{};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(70'000);
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: hostile_sender PORT SECONDS SEED QPN...\n");
    return 2;
  }
  Sender sender{static_cast<std::uint16_t>(std::atoi(argv[1])),
                std::strtoull(argv[3], nullptr, 10)};
  std::vector<std::uint32_t> qpns;
  for (int i = 4; i < argc; ++i) {
    qpns.push_back(static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 0)));
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{std::atoi(argv[2])};
  std::uint64_t sent = 0;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 64; ++i, ++sent) sender.send_one(qpns);
  }
  std::printf("sent %llu\n", static_cast<unsigned long long>(sent));
  return 0;
}
