// The UDP link of one process: its sockets to send from and its socket of the shared port.
#pragma once

#include <memory>

#include "link/udp/port_group.h"
#include "link/udp/udp_receiver.h"
#include "link/udp/udp_sender.h"

namespace nerve::link {

struct UdpLinkConfig {
  std::uint32_t index{};  // of the group's sockets, the one that is ours
  std::size_t max_senders{32};
  bool segmentation{true};
};

class UdpLink final : public Egress, public Ingress {
 public:
  static Result<std::unique_ptr<UdpLink>, SocketError> open(PortGroup group,
                                                            const UdpLinkConfig& config);

  void send(std::span<const wire::Frame> frames, Time now) override { sender_->send(frames, now); }
  void send_octets(const wire::Flow& flow, Octets udp_payload, Time now) override {
    sender_->send_octets(flow, udp_payload, now);
  }
  std::size_t receive(FrameSink& sink, std::size_t budget, Time now) override {
    return receiver_.receive(sink, budget, now);
  }

  [[nodiscard]] const PortGroup& group() const { return group_; }
  [[nodiscard]] UdpSender& sender() { return *sender_; }
  [[nodiscard]] UdpReceiver& receiver() { return receiver_; }
  [[nodiscard]] int fd() const { return receiver_.fd(); }
  // As they stand: segmentation may turn out to be refused only once something is sent.
  [[nodiscard]] Offloads offloads() const;

 private:
  UdpLink(PortGroup group, std::unique_ptr<UdpSender> sender, std::uint32_t index)
      : group_{std::move(group)}, sender_{std::move(sender)}, receiver_{group_, index} {}

  PortGroup group_;
  std::unique_ptr<UdpSender> sender_;
  UdpReceiver receiver_;
};

}  // namespace nerve::link
