// Tracks room in the receive sockets of this host's processes, for UC and UD packets sent by UDP.
//
// UC and UD do not retransmit, so a packet that finds the receiver's socket full is lost. Every
// process holds the sockets of all processes of its user (decision 0007) and can ask the kernel how
// full one is. A sender checks, takes a share of the free space, and checks again when the share is
// used up. Several senders see the same free space, so each takes only a part of it.
//
// A receiver that has read nothing from a full socket for a while is stopped or dead. From then on
// packets to it are sent anyway, and dropped by the kernel, until its socket has room again.
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
  // In bytes as the kernel charges them, which includes its overhead per packet.
  struct Level {
    std::uint64_t used{};
    std::uint64_t size{};
  };
  // Nothing if the kernel does not report it; then senders do not wait.
  using Look = std::function<std::optional<Level>(std::uint32_t socket)>;

  SocketRoom(std::uint32_t sockets, Look look) : sockets_(sockets), look_{std::move(look)} {}

  // Returns how many of these frames, of any size, may be built for the process in this slot. A
  // grant is valid until the next burst begins.
  [[nodiscard]] std::uint32_t grant(std::uint32_t slot, std::uint32_t frames, Time now);
  // Returns the unused part of the last grant.
  void give_back(std::uint32_t unused);
  void begin_burst();
  void sent(std::uint32_t slot, std::uint64_t frames, std::uint64_t bytes);

  // Returns true once after a refusal, when it is worth asking again.
  [[nodiscard]] bool room_again(Time now);
  // When to call room_again(); nothing if no grant was refused.
  [[nodiscard]] std::optional<Time> next_room() const;

 private:
  struct Socket {
    std::uint64_t share{};    // bytes that may be sent before the next check
    std::uint64_t granted{};  // the part of it granted in this burst and not sent yet
    Time looked_at{};
    bool refused{};
    // While the socket is full: its level at the last check, and since when nothing was read from
    // it.
    std::uint64_t used{};
    std::optional<Time> full_since;
    Time next_look{};
  };
  // Slots map to sockets by their lower bits, as the kernel steers packets.
  [[nodiscard]] Socket& socket_of(std::uint32_t slot) { return sockets_[slot % sockets_.size()]; }
  // Checks the level. True if frames may be sent: there is room, or the receiver is considered
  // stuck.
  bool look(Socket& socket, Time now);

  std::vector<Socket> sockets_;
  Look look_;
  Socket* last_granted_{};
  bool any_granted_{};  // in this burst
  bool any_refused_{};
};

}  // namespace nerve::host
