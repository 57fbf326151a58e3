// The keys of one QP and its peer: how both agree on them, and the packets that they seal.
//
// The side with the smaller address and QPN calls, the other one answers; each learns the other's
// QPN from the program, as for plain packets. Calls and answers are repeated until something else
// shows that they arrived. A side that becomes ready later than its peer invites it to call at
// once.
//
//   caller                           answerer
//     <-- invitation -----------------          repeated until a call comes
//     --- call: e, {SPI, suites} ---->
//     <-- answer: e, {SPI, suite} ----
//     --- an empty sealed packet ---->          proves that the caller made this call
//     <-- an empty sealed packet -----          ... and that the answerer made this answer
//
// To check a call or an answer costs an exchange of keys, so a stranger could keep a process busy
// with forged ones. Each invitation and each call has a random number, which the reply repeats:
// packets with the right one are checked first, others only now and then.
//
// No I/O: the driver sends what next_packet() returns, at deadline(), and passes received packets
// in.
#pragma once

#include <memory>
#include <memory_resource>
#include <optional>
#include <vector>

#include "seal/incoming.h"
#include "seal/noise.h"
#include "seal/outgoing.h"
#include "seal/sealer.h"

namespace nerve::seal {

struct Endpoint {
  wire::Gid gid{};
  Qpn qpn{};
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct SessionSetup {
  Endpoint own;
  Endpoint peer;
  Credentials credentials;
  std::vector<Suite> suites;  // that may be used, the best one first
  EpochLimits limits{};
  bool reveals_secrets{};               // take_secrets() returns something once
  std::pmr::memory_resource* memory{};  // for keys that are being agreed on; null: the heap
};

// With the secrets of epoch 0 somebody else can open the packets of a session.
struct SessionSecrets {
  struct Direction {
    std::uint32_t spi{};
    ChainSecret first;
  };
  Direction to_peer;
  Direction from_peer;
};

struct SessionCounters {
  std::uint64_t sealed{};
  std::uint64_t opened{};
  std::uint64_t replayed{};
  std::uint64_t refused{};  // forged, malformed, or of an epoch that is over
};

class Session final : public Sealer, public Opener {
 public:
  // The largest packet of the handshake, as a UDP payload.
  static constexpr std::size_t kPayloadSize = 8;
  static constexpr std::size_t kMessageSize = kPayloadSize + Noise::kMessageOverhead;
  static constexpr std::size_t kMaxPacket = kClearSize + kMessageSize;

  Session(Crypto& crypto, const SessionSetup& setup, Time now);

  // True if both have keys: frames may be sealed.
  [[nodiscard]] bool is_open() const { return outgoing_.has_value(); }
  [[nodiscard]] Suite suite() const { return suite_; }
  // For a log of keys that the user asked for: the secrets, once, after it is open. Nothing if the
  // setup does not reveal them.
  [[nodiscard]] std::optional<SessionSecrets> take_secrets();
  // True if somebody at the peer's address wants to agree on keys.
  [[nodiscard]] bool heard_from_peer() const { return heard_from_peer_; }

  // When next_packet() has something; nothing if it waits for the peer.
  [[nodiscard]] std::optional<Time> deadline() const { return due_; }
  // Writes a packet of the handshake to `out`, which has room for kMaxPacket bytes. Returns its
  // size, or zero.
  [[nodiscard]] std::size_t next_packet(Time now, MutableBytes out);
  // The addresses of these packets.
  [[nodiscard]] wire::Flow flow() const;

  // Takes a sealed packet, which it decrypts where it lies. If the result is kGood, `frame` refers
  // to it. A packet of the handshake is kEmpty.
  [[nodiscard]] Opening receive(const wire::Flow& flow, MutableBytes packet, Time now,
                                wire::Frame& frame, wire::Piece& piece) override;
  // Only while is_open(). False: the packet must not be sent.
  [[nodiscard]] bool seal(const wire::Frame& frame, Time now, MutableBytes out) override;
  [[nodiscard]] bool seal(const wire::Flow& flow, Bytes plain, Time now, MutableBytes out) override;

  [[nodiscard]] const SessionCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t epochs() const { return outgoing_ ? outgoing_->epochs() : 0; }

 private:
  using Message = std::array<std::byte, kMessageSize>;

  // Keys that the peer may have too: those of a call and its answer. An old call that somebody
  // recorded is authentic, and so is an answer that the answerer has forgotten since; but only a
  // peer with the same keys can seal a packet. Until one arrives, both sides keep several
  // candidates.
  struct Candidate {
    Message received;  // the call, or the answer
    Header answer_header{};
    Message answer{};  // of the answerer
    Suite suite;
    Incoming incoming;
    Outgoing outgoing;
    std::optional<SessionSecrets> secrets;
    Time made;
  };
  static constexpr std::size_t kMaxCandidates = 4;

  // A QP may be its own peer. It has nobody to agree with.
  void open_to_itself(Time now);
  [[nodiscard]] bool is_caller() const;
  [[nodiscard]] std::vector<std::byte> prologue() const;
  void call();
  void take_call(const Header& header, Bytes message, Time now);
  void answer_call(const Header& header, Bytes message, Time now);
  // True if the message made a candidate, which is the next one that is spoken of.
  [[nodiscard]] bool is_known(const Header& header, Bytes message, Time now);
  void take_answer(const Header& header, Bytes message, Time now);
  void take_invitation(const Header& header, Time now);
  [[nodiscard]] Opening open_candidate(const wire::Flow& flow, MutableBytes packet, Time now,
                                       wire::Frame& frame, wire::Piece& piece);
  [[nodiscard]] bool make_room(Time now);
  [[nodiscard]] std::optional<SessionSecrets> revealed(const SessionSecrets& secrets) const;
  [[nodiscard]] std::optional<Suite> choose(std::uint8_t offered) const;
  [[nodiscard]] std::uint64_t random_number();
  [[nodiscard]] std::uint32_t random_spi() { return static_cast<std::uint32_t>(random_number()); }
  void send_soon(Time now);
  // The same, about the latest candidate.
  void reply_soon(Time now);
  Opening count(Opening opening);

  Crypto& crypto_;
  SessionSetup setup_;
  Suite suite_{};
  bool heard_from_peer_{};

  // Of the caller.
  std::optional<Noise> noise_;
  Message call_{};
  std::uint64_t call_number_{};
  std::uint32_t invitation_{};  // the number of the latest one
  std::uint32_t spi_{};
  // Of the answerer.
  std::uint32_t own_invitation_{};
  Time next_stranger_{};  // calls without the number of our invitation are ignored before

  std::pmr::vector<Candidate> candidates_;
  bool began_again_{};  // the last packet was a call or an invitation
  std::optional<Incoming> incoming_;
  std::optional<Outgoing> outgoing_;
  std::optional<SessionSecrets> secrets_;

  Time next_exchange_{};  // calls and answers with the right number are ignored before
  std::optional<Time> due_;
  Time last_sent_{};
  Duration pause_{};  // until the packet is repeated
  SessionCounters counters_;
};

}  // namespace nerve::seal
