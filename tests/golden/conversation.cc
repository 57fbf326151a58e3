#include <algorithm>
#include <map>
#include <tuple>

#include "tests/golden/captures.h"
#include "tests/golden/replay.h"
#include "wire/capture.h"

namespace nerve::golden {

using wire::Position;
using wire::Role;

namespace {

std::vector<CapturedFrame> rc_frames_of(const std::string& file) {
  std::vector<CapturedFrame> frames;
  const std::vector<std::byte> bytes = read_capture(file);
  auto opened = wire::CaptureReader::open(bytes);
  if (!opened) return frames;
  wire::CaptureReader reader = *opened;
  for (;;) {
    const auto record = reader.next();
    if (!record || !record->has_value()) return frames;
    const auto ip = wire::find_ip((*record)->link, (*record)->bytes);
    if (!ip) continue;
    const auto packet = wire::decode_packet(*ip);
    if (!packet || packet->icrc == wire::IcrcVerdict::kBad) continue;
    const wire::OpcodeInfo* info = wire::find_opcode(packet->headers.bth.opcode);
    if (info == nullptr || info->transport != wire::Transport::kRc) continue;
    frames.push_back({.flow = packet->flow,
                      .headers = packet->headers,
                      .payload = {packet->payload.begin(), packet->payload.end()},
                      .request = info->role == Role::kRequest});
  }
}

std::uint32_t mtu_of(const std::vector<CapturedFrame>& frames) {
  for (const CapturedFrame& frame : frames) {
    const wire::OpcodeInfo* info = wire::find_opcode(frame.headers.bth.opcode);
    const bool full = info->position == Position::kFirst || info->position == Position::kMiddle;
    if (full) return static_cast<std::uint32_t>(frame.payload.size());
  }
  return 1024;
}

}  // namespace

// An answer carries only its receiver's QPN. Connections are distinguished by their UDP source
// port, which rdma_rxe derives from both QPNs and which is therefore the same in both directions.
std::vector<Conversation> conversations_of(const std::string& file) {
  const std::vector<CapturedFrame> all = rc_frames_of(file);
  std::vector<Conversation> found;
  const auto belongs = [](const Conversation& c, const CapturedFrame& f) {
    return c.frames.front().flow.source_port == f.flow.source_port &&
           (f.request ? f.flow.source == c.requester && f.flow.destination == c.responder
                      : f.flow.source == c.responder && f.flow.destination == c.requester);
  };
  for (const CapturedFrame& frame : all) {
    auto conversation =
        std::ranges::find_if(found, [&](const Conversation& c) { return belongs(c, frame); });
    if (conversation == found.end()) {
      if (!frame.request) continue;
      found.push_back({.requester = frame.flow.source,
                       .responder = frame.flow.destination,
                       .responder_qpn = frame.headers.bth.dest_qp});
      conversation = found.end() - 1;
    }
    if (!frame.request) conversation->requester_qpn = frame.headers.bth.dest_qp;
    conversation->frames.push_back(frame);
  }
  for (Conversation& conversation : found) conversation.mtu = mtu_of(conversation.frames);
  std::erase_if(found, [](const Conversation& c) { return c.requester_qpn == Qpn{}; });
  return found;
}

}  // namespace nerve::golden
