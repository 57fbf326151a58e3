// A sender and a receiver on loopback, on a port of their own, and what tests of both need: frames
// that own their payload, and a sink that copies what it receives.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <vector>

#include "base/prng.h"
#include "link/udp/port_group.h"
#include "link/udp/udp_receiver.h"
#include "link/udp/udp_sender.h"
#include "tests/wire/random_headers.h"
#include "wire/packet.h"

namespace nerve::link {

inline constexpr wire::Gid kHere4 = wire::Gid::ipv4(127, 0, 0, 1);
inline constexpr wire::Gid kThere4 = wire::Gid::ipv4(127, 0, 0, 2);
inline constexpr wire::Gid kHere6 = [] {
  wire::Gid gid;
  gid.bytes[15] = std::byte{1};
  return gid;
}();

inline constexpr wire::Opcode kSendOnly =
    wire::opcode(wire::Transport::kRc, wire::Operation::kSendOnly);
inline constexpr wire::Opcode kSendMiddle =
    wire::opcode(wire::Transport::kRc, wire::Operation::kSendMiddle);

inline bool machine_has_ipv6_loopback() {
  if (machine_family() != IpFamily::kDual) return false;
  const auto socket = UdpSocket::make(IpFamily::kDual);
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_addr = in6addr_loopback;
  return socket && ::bind(socket->fd(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0;
}

struct Sample {
  wire::Flow flow;
  wire::Headers headers;
  std::vector<std::byte> payload;
};

// Frames made from samples, and all memory that they refer to.
class Frames {
 public:
  explicit Frames(std::vector<Sample> samples)
      : samples_{std::move(samples)}, pieces_(samples_.size()) {
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const Sample& sample = samples_[i];
      pieces_[i] = {.address = reinterpret_cast<std::uint64_t>(sample.payload.data()),
                    .length = static_cast<std::uint32_t>(sample.payload.size())};
      frames_.push_back({.flow = sample.flow,
                         .headers = sample.headers,
                         .payload = {&pieces_[i], sample.payload.empty() ? 0U : 1U},
                         .payload_length = pieces_[i].length});
    }
  }
  [[nodiscard]] std::span<const wire::Frame> span() const { return frames_; }

 private:
  std::vector<Sample> samples_;
  std::vector<wire::Piece> pieces_;
  std::vector<wire::Frame> frames_;
};

class Collector final : public FrameSink {
 public:
  void deliver(std::span<const wire::Frame> frames, Time /*now*/) override {
    ++deliveries;
    for (const wire::Frame& frame : frames) {
      Sample& sample = got.emplace_back(Sample{frame.flow, frame.headers, {}});
      for (const wire::Piece& piece : frame.payload) {
        const auto* from = reinterpret_cast<const std::byte*>(piece.address);
        sample.payload.insert(sample.payload.end(), from, from + piece.length);
      }
    }
  }
  std::vector<Sample> got;
  std::size_t deliveries{};
};

struct PairConfig {
  std::uint32_t sockets{1};
  std::size_t max_senders{32};
  bool segmentation{true};
  bool coalescing{true};
  bool ipv6{true};
};

class UdpPair {
 public:
  explicit UdpPair(const PairConfig& config = {}) {
    auto made = PortGroup::create({.port = 0, .sockets = config.sockets, .ipv6 = config.ipv6});
    EXPECT_TRUE(made) << made.error().text;
    group = std::make_unique<PortGroup>(*std::move(made));
    for (std::uint32_t i = 0; i < group->size(); ++i) {
      if (!config.coalescing) (void)group->socket(i).set(IPPROTO_UDP, 104 /* UDP_GRO */, 0);
      receivers.push_back(std::make_unique<UdpReceiver>(*group, i));
    }
    auto opened = UdpSender::open({.port = group->port(),
                                   .family = group->family(),
                                   .max_sockets = config.max_senders,
                                   .segmentation = config.segmentation});
    EXPECT_TRUE(opened) << opened.error().text;
    sender = *std::move(opened);
  }

  void send(const std::vector<Sample>& samples) { sender->send(Frames{samples}.span(), Time{}); }

  // Loopback delivers during the send, unless a softirq was deferred: wait for that.
  std::vector<Sample> receive(std::size_t expected, std::uint32_t index = 0) {
    Collector collector;
    UdpReceiver& from = *receivers[index];
    const std::uint64_t before = seen(from);
    while (seen(from) - before < expected) {
      pollfd until{.fd = from.fd(), .events = POLLIN, .revents = 0};
      if (::poll(&until, 1, 2000) <= 0) break;
      from.receive(collector, 1000, Time{});
    }
    from.receive(collector, 1000, Time{});
    return collector.got;
  }

  static std::uint64_t seen(const UdpReceiver& receiver) {
    const UdpReceiverCounters& counters = receiver.counters();
    return counters.packets + counters.bad_icrc + counters.bad_seal + counters.closed +
           counters.malformed;
  }

  std::unique_ptr<PortGroup> group;
  std::vector<std::unique_ptr<UdpReceiver>> receivers;
  std::unique_ptr<UdpSender> sender;
};

inline Sample random_sample(Prng& prng, const wire::Flow& flow, wire::Opcode opcode,
                            std::size_t length) {
  Sample sample{.flow = flow, .headers = wire::random_headers(prng, opcode), .payload{}};
  sample.payload.resize(length);
  for (std::byte& byte : sample.payload) byte = static_cast<std::byte>(prng.next());
  sample.headers.bth.pad = wire::pad_for(static_cast<std::uint32_t>(length));
  return sample;
}

// Compares everything that must be preserved; the real source port is not known beforehand.
inline void expect_equal(const std::vector<Sample>& got, const std::vector<Sample>& sent) {
  ASSERT_EQ(got.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    SCOPED_TRACE("packet " + std::to_string(i));
    wire::Flow flow = sent[i].flow;
    flow.source_port = got[i].flow.source_port;
    EXPECT_EQ(got[i].flow.source.bytes, flow.source.bytes);
    EXPECT_EQ(got[i].flow.destination.bytes, flow.destination.bytes);
    EXPECT_EQ(got[i].flow.traffic_class, flow.traffic_class);
    EXPECT_EQ(got[i].flow.hop_limit, flow.hop_limit);
    EXPECT_EQ(got[i].headers, sent[i].headers);
    EXPECT_EQ(got[i].payload, sent[i].payload);
  }
}

}  // namespace nerve::link
