#include "link/tap/pcap_tap.h"

#include "wire/ip.h"
#include "wire/packet.h"

namespace nerve::link {
namespace {

constexpr std::size_t kMaxOuter = wire::Ipv6Header::kSize + wire::UdpHeader::kSize;

void capture(PcapFile& file, const wire::Frame& frame, Time now) {
  // Shared memory can carry frames larger than an IP packet; those are not captured.
  if (wire::packet_size(frame) > kMaxPcapPacket || !file.wants_packet()) return;
  file.record(wire::encode_packet(frame, {}, file.packet_room()), now);
}

}  // namespace

void PcapEgress::send(std::span<const wire::Frame> frames, Time now) {
  for (const wire::Frame& frame : frames) capture(file_, frame, now);
  next_.send(frames, now);
}

void PcapEgress::send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) {
  if (udp_payload.size() <= kMaxPcapPacket - kMaxOuter && file_.wants_packet()) {
    file_.record(wire::encode_packet(flow, {}, udp_payload, file_.packet_room()), now);
  }
  next_.send_bytes(flow, udp_payload, now);
}

void PcapSink::deliver(std::span<const wire::Frame> frames, Time now) {
  for (const wire::Frame& frame : frames) {
    if (origins_.passes && origins_.passes(frame)) continue;
    if (direction_ == PcapDirection::kBoth || !captured_by_sender(frame)) {
      capture(file_, frame, now);
    }
  }
  next_.deliver(frames, now);
}

bool PcapSink::captured_by_sender(const wire::Frame& frame) const {
  if (!origins_.is_local || !origins_.is_local(frame.flow.source)) return false;
  return (origins_.is_own && origins_.is_own(frame)) || file_.is_shared();
}

}  // namespace nerve::link
