// This process's share of the host's UDP port. The first process that needs the port creates the
// sockets; later ones get them from any process that has them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/config/config.h"
#include "host/network/socket_room.h"
#include "link/udp/port_group.h"
#include "link/udp/udp_receiver.h"
#include "link/udp/udp_sender.h"

namespace nerve::host {

class UdpPort {
 public:
  // May wait a little for another process to answer. The error is a sentence.
  [[nodiscard]] static Result<std::unique_ptr<UdpPort>, std::string> open(const Config& config,
                                                                          std::uint32_t slot);

  [[nodiscard]] link::UdpSender& sender() { return *sender_; }
  [[nodiscard]] link::UdpReceiver& receiver() { return receiver_; }
  [[nodiscard]] const link::PortGroup& group() const { return group_; }
  [[nodiscard]] SocketRoom& room() { return room_; }

  // Opens the socket that receives management datagrams for all processes. The first process to
  // read it finds datagrams that came while no process did, and discards them.
  link::UdpReceiver& read_management(link::UdpReceiver::Unread unread);
  // Null until read_management().
  [[nodiscard]] link::UdpReceiver* management() { return management_ ? &*management_ : nullptr; }

  // Opens this shard's own socket for multicast groups: a socket of the port group may be shared
  // with other processes. Null, with errno, on failure.
  [[nodiscard]] link::UdpReceiver* read_multicast();
  // Null until read_multicast().
  [[nodiscard]] link::UdpReceiver* multicast() { return multicast_ ? &*multicast_ : nullptr; }

 private:
  UdpPort(link::PortGroup group, link::ReceiveWishes wishes, std::uint32_t slot,
          std::unique_ptr<link::UdpSender> sender);

  link::PortGroup group_;
  link::ReceiveWishes wishes_;
  link::UdpReceiver receiver_;
  SocketRoom room_;
  std::optional<link::UdpReceiver> management_;
  link::UdpSocket multicast_socket_;
  std::optional<link::UdpReceiver> multicast_;
  std::unique_ptr<link::UdpSender> sender_;
};

}  // namespace nerve::host
