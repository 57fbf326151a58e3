// This process's share of the host's UDP port: made by the first process that needs it, handed on
// by whichever process has it.
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

  // The socket that management's datagrams come to, whichever process they are for. The first that
  // reads it finds what came while nobody did, and discards it.
  link::UdpReceiver& read_management(link::UdpReceiver::Unread unread);
  // Null as long as this process does not read it.
  [[nodiscard]] link::UdpReceiver* management() { return management_ ? &*management_ : nullptr; }

  // A socket for multicast groups, of this shard alone: sockets of the group are read by other
  // processes too when there are many. Null, and errno, when there is none to be had.
  [[nodiscard]] link::UdpReceiver* read_multicast();
  // Null as long as there is none.
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
