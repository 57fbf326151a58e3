// Connections between all pairs of ranks, made when a group is joined: TCP, or rsockets if the
// ranks meet at rdma://. The first of each pair is the control connection: it carries the exchange
// of addresses and keys, and its end shows that a peer has died, to a rank that only waits as well.
// The others are the lanes of the TCP transport.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ai/error.h"
#include "ai/rendezvous.h"
#include "ai/sockets.h"

namespace nerve::ai {

class Mesh {
 public:
  // `host`: the address of this host for the peers; empty: as the rendezvous knows it.
  static Result<Mesh, Error> connect(Place place, Rendezvous& rendezvous, const std::string& host,
                                     std::size_t links, const Patience& patience);

  [[nodiscard]] int rank() const { return place_.rank; }
  [[nodiscard]] int size() const { return place_.size; }
  Descriptor& link(int peer, std::size_t index) { return peers_[at(peer)].links[index]; }

  // Sends a text to every peer and returns theirs; the text of this rank is empty.
  Result<std::vector<std::string>, Error> exchange(const std::function<std::string(int)>& text_for,
                                                   const Patience& patience);

  // The last exchange is over: what arrives on the control connections from now on is for check().
  // A peer that is ahead may have sent its part of an exchange while this rank still waits for
  // something else.
  void end_exchanges() { exchanges_ended_ = true; }
  // The death or silence of a peer, noticed here or reported by another rank. Cheap enough to call
  // every millisecond.
  const std::optional<Error>& check();
  // Whether the peer closed its group after its last call.
  [[nodiscard]] bool left(int peer) const { return peers_[at(peer)].left; }

  // Reports to all peers that a rank died, or left while this one waited for it, so that all name
  // the same rank.
  void report_death(int rank);

  // Which ranks keep the others waiting: asks all peers whether they wait as well. A peer answers
  // while it is inside a call; one that is stopped or computes does not.
  void ask_all();
  [[nodiscard]] std::vector<int> silent_peers() const;
  // A call ended because this rank did not answer; ends the calls of all peers, too.
  void report_silence(int rank);
  void leave();

 private:
  struct Peer {
    std::vector<Descriptor> links;
    bool left{};
    bool answered{};                  // since the last question
    std::vector<std::byte> received;  // a part of a control message
  };
  static constexpr std::size_t kControl = 0;

  explicit Mesh(Place place) : place_{place}, peers_(static_cast<std::size_t>(place.size)) {}
  static std::size_t at(int peer) { return static_cast<std::size_t>(peer); }
  Status connect_all(const std::vector<Address>& addresses, std::uint64_t token,
                     const Descriptor& listener, std::size_t links, const Patience& patience);
  void read_control(int peer);
  void send_control(int peer, char kind, int rank);
  void handle_control(int peer, char kind, int rank);
  void end(Error::Kind kind, int rank, const std::string& how);

  Place place_;
  std::vector<Peer> peers_;
  std::optional<Error> death_;
  bool exchanges_ended_{};
};

}  // namespace nerve::ai
