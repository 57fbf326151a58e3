// The sealed QPs of a shard: their sessions, and which packets may travel without one.
//
//   opening   both sides agree on keys; frames wait
//   open      frames are sealed; plain packets from the network are dropped
//   plain     the peer does not seal, and need not (SealMode::kPrefer)
//   refused   the peer does not seal, but must: frames are dropped, and their QP's retries run out
//
// Guarded by the shard's lock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "host/seal/datagram_seal.h"
#include "host/seal/mad_seal.h"
#include "host/seal/seal_setup.h"
#include "link/udp/sealing.h"
#include "link/udp/udp_sender.h"
#include "seal/session.h"

namespace nerve::host {

class SealTable final : public link::Sealing {
 public:
  explicit SealTable(const std::shared_ptr<const SealSetup>& setup)
      : mads{setup}, setup_{setup}, datagrams_{setup} {}

  // Of connections that are being made or ended. Only while active().
  MadSeal mads;

  enum class Arrival : std::uint8_t {
    kNetwork,
    kRing,  // from a process of this host, which may have read it from the network
  };

  [[nodiscard]] bool active() const { return setup_ != nullptr; }

  // A QP of ours is connected by UDP and can receive, or is not any more.
  void connect(const seal::Endpoint& own, const seal::Endpoint& peer, Time now);
  void disconnect(Qpn own);
  // In the child of a fork(): all keys are erased.
  void leave();

  Way way_of(const wire::Flow& flow, const wire::Bth& bth) override;
  seal::Opener* opener_of(const wire::Flow& flow, Bytes packet) override;

  // True if frames to this QP must wait.
  [[nodiscard]] bool waits(const wire::Gid& destination, Qpn qpn) const;
  // True once after QPs stopped waiting.
  [[nodiscard]] bool stopped_waiting() { return std::exchange(stopped_waiting_, false); }
  // Whether to accept a frame that is not closed.
  [[nodiscard]] bool accepts(const wire::Frame& frame, Arrival arrival);

  // Signed management datagrams, and sealed packets that a process without their keys read from
  // the socket.
  [[nodiscard]] static bool is_closed(const wire::Frame& frame);
  // What a closed frame contains; nothing if it is forged, or carries no frame. The result is valid
  // until the next call.
  [[nodiscard]] std::optional<wire::Frame> open(const wire::Frame& frame, Time now);

  [[nodiscard]] std::optional<Time> next_deadline() const;
  // Sends what is due.
  void expire(Time now, link::UdpSender& out);

  // "aes128-gcm", "plain", "refused"; empty if the QP is not sealed.
  [[nodiscard]] std::string state_of(Qpn own) const;

 private:
  enum class State : std::uint8_t { kOpening, kOpen, kPlain, kRefused };
  struct Entry {
    Entry(seal::Crypto& crypto, const seal::SessionSetup& setup, SealMode wanted, Time now)
        : session{crypto, setup, now}, own{setup.own}, peer{setup.peer}, mode{wanted}, began{now} {}

    seal::Session session;
    seal::Endpoint own;
    seal::Endpoint peer;
    SealMode mode;
    State state{State::kOpening};
    Time began;
    bool speaks{};  // in `speaking_`
  };
  struct PeerHash {
    std::size_t operator()(const seal::Endpoint& end) const;
  };

  void speak(Entry& entry);
  // Looks at the session's progress. Returns false if it has nothing to send any more.
  bool follow(Entry& entry, Time now);
  void settle(Entry& entry, State state);
  // Says, a few times at most, why nothing is exchanged with a peer.
  void warn_of(const wire::Gid& peer, const char* why);
  void write_keys(Entry& entry) const;
  [[nodiscard]] Entry* find(Qpn own) const;
  [[nodiscard]] Entry* find(const wire::Gid& destination, Qpn qpn) const;

  std::shared_ptr<const SealSetup> setup_;
  DatagramSeal datagrams_;
  SecretMemory memory_;                                          // of entries
  std::unordered_map<std::uint32_t, SecretPtr<Entry>> entries_;  // by our QPN
  std::unordered_map<seal::Endpoint, Entry*, PeerHash> by_peer_;
  std::vector<Entry*> speaking_;  // their sessions may have something to send
  bool stopped_waiting_{};
  wire::Gid warned_of_{};
  std::uint32_t warnings_{};
  std::vector<std::byte> packet_;  // the result of open() refers to it
  wire::Piece piece_{};
};

}  // namespace nerve::host
