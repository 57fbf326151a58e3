#include "link/udp/offloads.h"

#include <array>

#include "link/udp/port_group.h"
#include "link/udp/udp_receiver.h"
#include "link/udp/udp_sender.h"

namespace nerve::link {
namespace {

class Nowhere final : public FrameSink {
 public:
  void deliver(std::span<const wire::Frame> /*frames*/, Time /*now*/) override {}
};

// Sends a train of two packets to ourselves: some kernels accept the socket option but fail to
// send.
void try_a_train(UdpSender& sender, UdpReceiver& receiver) {
  constexpr wire::Gid kLoopback = wire::Gid::ipv4(127, 0, 0, 1);
  std::array<wire::Frame, 2> frames{};
  for (wire::Frame& frame : frames) {
    frame.flow.source = frame.flow.destination = kLoopback;
    frame.headers.bth.opcode = wire::opcode(wire::Transport::kRc, wire::Operation::kSendOnly);
  }
  sender.send(frames, Time{});
  Nowhere nowhere;
  (void)receiver.receive(nowhere, frames.size(), Time{});
}

}  // namespace

Offloads probe_offloads(int buffer) {
  Offloads found;
  const auto fail = [&](const SocketError& error) {
    found.segmentation.reason = found.receive_coalescing.reason = error.text;
    return found;
  };
  found.ipv6.works = machine_family() == IpFamily::kDual;
  if (!found.ipv6.works) {
    found.ipv6.reason = "no IPv6 sockets here; the kernel lacks ipv6 or it is disabled";
  }
  const auto group = PortGroup::create({.port = 0, .sockets = 1, .wishes = {.buffer = buffer}});
  if (!group) return fail(group.error());
  const auto sender =
      UdpSender::open({.port = group->port(), .family = group->family(), .buffer = buffer});
  if (!sender) return fail(sender.error());
  UdpReceiver receiver{*group, 0};
  try_a_train(**sender, receiver);
  found.segmentation = (*sender)->segmentation();
  found.receive_coalescing = receiver.coalescing();
  found.send_buffer = (*sender)->buffer();
  found.receive_buffer = receiver.buffer();
  return found;
}

}  // namespace nerve::link
