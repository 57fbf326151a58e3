// This process's share of the host's UDP port: made by the first process that needs it, handed on
// by whichever process has it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "host/config.h"
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

 private:
  UdpPort(link::PortGroup group, std::uint32_t slot, std::unique_ptr<link::UdpSender> sender);

  link::PortGroup group_;
  link::UdpReceiver receiver_;
  std::unique_ptr<link::UdpSender> sender_;
};

}  // namespace nerve::host
