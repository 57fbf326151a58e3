// Sealed datagrams (UD): one packet has to do, so there is no handshake. The keys follow from what
// two hosts have in common, and from a random number of the sender.
//
// A stream is what a sender seals with one such number: at most 2^32 packets, in one hour. The
// header's SPI and the upper half of its counter are the number, the lower half counts packets; its
// epoch is the suite. Each packet is accepted once, as long as its receiver remembers the stream.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <utility>

#include "seal/outgoing.h"
#include "seal/replay_window.h"
#include "seal/sealer.h"

namespace nerve::seal {

// True if a sealed packet is a datagram rather than a packet of a session.
[[nodiscard]] bool is_datagram(Bytes packet);

// Seals the datagrams of one address for those who have the secret.
class DatagramSender final : public Sealer {
 public:
  DatagramSender(Crypto& crypto, Suite suite, const ChainSecret& secret,
                 const EpochLimits& limits = {});

  bool seal(const wire::Frame& frame, Time now, MutableBytes out) override;
  bool seal(const wire::Flow& flow, Bytes plain, Time now, MutableBytes out) override;

 private:
  [[nodiscard]] std::optional<Header> next_header(const wire::Gid& source, Time now);

  Crypto& crypto_;
  Suite suite_;
  ChainSecret secret_;
  EpochLimits limits_;
  EpochKey key_;
  Header header_{};      // of the next packet
  std::uint64_t end_{};  // the counter at which the stream ends
  Time began_{};
};

// Opens the datagrams of all senders.
class DatagramReceiver {
 public:
  // Streams that are remembered. The one that was silent for the longest time is forgotten.
  static constexpr std::size_t kMaxStreams = 4096;

  DatagramReceiver(Crypto& crypto, std::uint8_t suites) : crypto_{crypto}, suites_{suites} {}

  // `secret` is what this host and the packet's sender have in common. Only a frame of a datagram
  // transport is kGood.
  [[nodiscard]] Opening receive(const ChainSecret& secret, const wire::Flow& flow,
                                MutableBytes packet, Time now, wire::Frame& frame,
                                wire::Piece& piece);
  [[nodiscard]] std::size_t streams() const { return streams_.size(); }

 private:
  // The source's GID, and the number of the stream.
  using Name = std::pair<std::array<std::byte, sizeof(wire::Gid)>, std::uint64_t>;
  struct Stream {
    Name name;
    EpochKey key;
    ReplayWindow window;
  };
  using Streams = std::list<Stream>;  // the latest one first

  // True if a packet of an unknown stream may be checked now, which costs a derivation.
  [[nodiscard]] bool may_derive(Time now);
  void remember(Stream stream);

  Crypto& crypto_;
  std::uint8_t suites_;  // bit n: suite n is accepted
  Streams streams_;
  std::map<Name, Streams::iterator> by_name_;
  std::uint32_t derivations_{};  // in a row
  Time derived_{};
};

}  // namespace nerve::seal
