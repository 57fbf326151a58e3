// The cost of the UDP link compared with the bare system calls: CPU time of sending and receiving
// over loopback, which other load does not disturb, and the rate of a sending and a receiving
// thread, which it does.
//
//   nerve_udp_link_bench [seconds per figure] [part of a line's name]
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include "link/udp/port_group.h"
#include "link/udp/udp_receiver.h"
#include "link/udp/udp_sender.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

namespace nerve::link {
namespace {

using Clock = std::chrono::steady_clock;

struct Shape {
  const char* name;
  std::uint32_t payload;
  std::size_t burst;      // packets per send()
  std::size_t bursts{8};  // in flight at once
  bool ipv6{};

  [[nodiscard]] bool small() const { return payload < 256; }
  [[nodiscard]] std::size_t packet() const {
    return wire::Bth::kSize + (small() ? wire::Reth::kSize : 0) + payload + wire::kIcrcSize;
  }
};

wire::Flow flow_of(const Shape& shape) {
  wire::Gid local;
  local.bytes[15] = std::byte{1};
  if (!shape.ipv6) local = wire::Gid::ipv4(127, 0, 0, 1);
  return {.source = local, .destination = local};
}

void wait_readable(int fd) {
  pollfd until{.fd = fd, .events = POLLIN, .revents = 0};
  (void)::poll(&until, 1, 10);
}

class Counter final : public FrameSink {
 public:
  void deliver(std::span<const wire::Frame> frames, Time /*now*/) override {
    packets += frames.size();
  }
  std::size_t packets{};
};

class Link {
 public:
  explicit Link(const Shape& shape)
      : group_{*PortGroup::create({.port = 0, .sockets = 1})},
        sender_{*UdpSender::open({.port = group_.port(), .family = group_.family()})},
        receiver_{group_, 0},
        memory_(shape.payload * shape.burst, std::byte{0x5a}),
        pieces_(shape.burst),
        frames_(shape.burst) {
    using enum wire::Operation;
    for (std::size_t i = 0; i < shape.burst; ++i) {
      pieces_[i] = {.address = reinterpret_cast<std::uint64_t>(memory_.data()) + i * shape.payload,
                    .length = shape.payload};
      frames_[i] = {
          .flow = flow_of(shape), .payload = {&pieces_[i], 1}, .payload_length = shape.payload};
      frames_[i].headers.bth.opcode =
          wire::opcode(wire::Transport::kRc, shape.small() ? kWriteOnly : kWriteMiddle);
    }
  }
  void send() { sender_->send(frames_, Time{}); }
  std::size_t receive() {
    const std::size_t before = counter_.packets;
    if (receiver_.receive(counter_, 256, Time{}) == 0) wait_readable(receiver_.fd());
    return counter_.packets - before;
  }

 private:
  PortGroup group_;
  std::unique_ptr<UdpSender> sender_;
  UdpReceiver receiver_;
  std::vector<std::byte> memory_;
  std::vector<wire::Piece> pieces_;
  std::vector<wire::Frame> frames_;
  Counter counter_;
};

// The same bytes through the same system calls, without headers, checksums and frames.
class Bare {
 public:
  explicit Bare(const Shape& shape)
      : shape_{shape},
        group_{*PortGroup::create({.port = 0, .sockets = 1})},
        sockets_{*SendSockets::open(group_.family(), 1)},
        to_{SocketName::of(group_.family(), flow_of(shape).destination, group_.port())},
        bytes_(shape.burst * shape.packet()),
        buffer_(1U << 16U) {
    fd_ = sockets_.for_port(0, Time{}).fd;
    const int segment = static_cast<int>(shape.packet());
    CHECK(::setsockopt(fd_, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) == 0);
  }
  void send() {
    (void)::sendto(fd_, bytes_.data(), bytes_.size(), 0, reinterpret_cast<const sockaddr*>(&to_),
                   to_.size);
  }
  std::size_t receive() {
    const int fd = group_.socket(0).fd();
    const ssize_t got = ::recv(fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got <= 0) wait_readable(fd);
    return got <= 0 ? 0 : static_cast<std::size_t>(got) / shape_.packet();
  }

 private:
  Shape shape_;
  PortGroup group_;
  SendSockets sockets_;
  SocketName to_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> buffer_;
  int fd_{};
};

double processor_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

struct Figures {
  double send_ns{};  // per packet
  double receive_ns{};
  double rate{};  // packets per second, with two threads
};

template <class Way>
void measure_cost(const Shape& shape, double seconds, Figures& figures) {
  Way way{shape};
  std::size_t packets = 0;
  double sending = 0;
  double receiving = 0;
  for (const auto end = Clock::now() + std::chrono::duration<double>(seconds);
       Clock::now() < end;) {
    const double begin = processor_ns();
    for (std::size_t i = 0; i < shape.bursts; ++i) way.send();
    const double sent = processor_ns();
    for (std::size_t got = 0; got < shape.burst * shape.bursts;) got += way.receive();
    receiving += processor_ns() - sent;
    sending += sent - begin;
    packets += shape.burst * shape.bursts;
  }
  figures.send_ns = sending / static_cast<double>(packets);
  figures.receive_ns = receiving / static_cast<double>(packets);
}

template <class Way>
void measure_rate(const Shape& shape, double seconds, Figures& figures) {
  Way way{shape};
  std::atomic<std::size_t> received{};
  std::atomic<bool> stop{};
  std::thread receiving{[&] {
    while (!stop) received.fetch_add(way.receive(), std::memory_order_release);
  }};
  const auto begin = Clock::now();
  double passed = 0;
  for (std::size_t sent = 0; passed < seconds;) {
    passed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (sent - received.load(std::memory_order_acquire) >= shape.burst * shape.bursts) continue;
    way.send();
    sent += shape.burst;
  }
  figures.rate = static_cast<double>(received) / passed;
  stop = true;
  receiving.join();
}

template <class Way>
void report(const Shape& shape, const char* way, double seconds) {
  Figures figures;
  measure_cost<Way>(shape, seconds, figures);
  measure_rate<Way>(shape, seconds, figures);
  std::printf("%-30s %-5s send %7.1f ns  receive %7.1f ns  two threads %6.2f Mpkt/s %6.2f GB/s\n",
              shape.name, way, figures.send_ns, figures.receive_ns, figures.rate * 1e-6,
              figures.rate * shape.payload * 1e-9);
}

}  // namespace
}  // namespace nerve::link

int main(int argc, char** argv) {
  using nerve::link::Shape;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.5;
  const char* only = argc > 2 ? argv[2] : "";
  for (const Shape& shape : {
           Shape{.name = "8 B in trains of 64", .payload = 8, .burst = 64, .bursts = 16},
           Shape{.name = "8 B in trains of 64, ipv6", .payload = 8, .burst = 64, .ipv6 = true},
           Shape{.name = "8 B one by one", .payload = 8, .burst = 1, .bursts = 64},
           Shape{.name = "1 KB in trains of 62", .payload = 1024, .burst = 62},
           Shape{.name = "4 KB in trains of 15", .payload = 4096, .burst = 15},
           Shape{.name = "4 KB in trains of 15, ipv6", .payload = 4096, .burst = 15, .ipv6 = true},
       }) {
    if (std::strstr(shape.name, only) == nullptr) continue;
    nerve::link::report<nerve::link::Link>(shape, "link", seconds);
    nerve::link::report<nerve::link::Bare>(shape, "bare", seconds);
  }
  return 0;
}
