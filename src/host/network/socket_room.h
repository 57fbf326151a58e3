// Room in the sockets of the processes of this host, for UC and UD packets by UDP.
//
// These transports retransmit nothing, so a packet for which the receiver's socket has no room is
// lost for good. Every process holds the sockets of all others of its user (decision 0007) and can
// ask the kernel how full one is: a sender looks, allows itself a share of what is free, and looks
// again when that is used up. Several senders see the same room, so each takes only a part of it.
//
// A receiver that has taken nothing out of a full socket for a while is stopped or dead. From then
// on it loses packets, as it would on any network, until its socket has room again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"

namespace nerve::host {

class SocketRoom {
 public:
  // In bytes as the kernel charges them: packets with all that it keeps for each.
  struct Level {
    std::uint64_t used{};
    std::uint64_t size{};
  };
  // Nothing where the kernel does not say; then no sender is held back.
  using Look = std::function<std::optional<Level>(std::uint32_t socket)>;

  SocketRoom(std::uint32_t sockets, Look look) : sockets_(sockets), look_{std::move(look)} {}

  // How many of these frames, of any size, may be built for the process in this slot. A grant holds
  // until the next burst begins.
  [[nodiscard]] std::uint32_t grant(std::uint32_t slot, std::uint32_t frames, Time now);
  // So much of the last grant was not used.
  void give_back(std::uint32_t unused);
  void begin_burst();
  void sent(std::uint32_t slot, std::uint64_t frames, std::uint64_t bytes);

  // True once after a refusal, when it is worth asking again.
  [[nodiscard]] bool room_again(Time now);
  // When to ask that; nothing when none was refused.
  [[nodiscard]] std::optional<Time> next_room() const;

 private:
  struct Socket {
    std::uint64_t share{};    // that we may still fill before we look again
    std::uint64_t granted{};  // of it, in this burst, and not sent yet
    Time looked_at{};
    bool refused{};
    // While it is full: how full at the last look, and since when nothing has been taken out.
    std::uint64_t used{};
    std::optional<Time> full_since;
    Time next_look{};
  };
  // Slots share the sockets by their lower bits, as the kernel steers packets.
  [[nodiscard]] Socket& socket_of(std::uint32_t slot) { return sockets_[slot % sockets_.size()]; }
  // True when frames may be sent: there is room, or waiting for it is over.
  bool look(Socket& socket, Time now);

  std::vector<Socket> sockets_;
  Look look_;
  Socket* last_granted_{};
  bool any_granted_{};  // in this burst
  bool any_refused_{};
};

}  // namespace nerve::host
