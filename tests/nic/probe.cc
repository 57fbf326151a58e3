#include "tests/nic/probe.h"

namespace nerve::test {

using namespace nic;

namespace {

wire::Transport transport_of(QpType type) {
  switch (type) {
    case QpType::kRc:
      return wire::Transport::kRc;
    case QpType::kUc:
      return wire::Transport::kUc;
    case QpType::kXrcSend:
    case QpType::kXrcRecv:
      return wire::Transport::kXrc;
    default:
      return wire::Transport::kUd;
  }
}

}  // namespace

wire::Frame Probe::frame(wire::Operation operation, std::uint32_t psn, std::uint32_t length) {
  wire::Frame frame;
  frame.flow.source = peer;
  frame.flow.destination = end.gid;
  wire::Bth& bth = frame.headers.bth;
  bth.opcode = wire::opcode(transport_of(end.setup.type), operation);
  bth.dest_qp = end.qpn();
  bth.psn = Psn{psn};
  bth.pad = wire::pad_for(length);
  bth.ack_request = true;
  frame.headers.deth = {.qkey = end.attributes.qkey, .source_qp = kPeerQpn};
  if (length > 0) {
    wire::Piece& piece = piece_[next_piece_++ % 16];
    piece = {.address = reinterpret_cast<std::uint64_t>(payload.data()), .length = length};
    frame.payload = {&piece, 1};
    frame.payload_length = length;
  }
  return frame;
}

wire::Frame Probe::frame_at(wire::Operation operation, std::uint32_t psn, std::size_t offset,
                            std::uint32_t length, std::uint32_t payload_length) {
  wire::Frame made = frame(operation, psn, payload_length);
  made.headers.reth = {.address = end.at(offset), .rkey = end.keys.rkey, .length = length};
  return made;
}

wire::Frame Probe::fetch_add(std::uint32_t psn, std::size_t offset, std::uint64_t addend) {
  wire::Frame made = frame(wire::Operation::kFetchAdd, psn);
  made.headers.atomic = {
      .address = end.at(offset), .rkey = end.keys.rkey, .swap_or_add = addend, .compare = 0};
  return made;
}

std::vector<Seen> Probe::hear(const wire::Frame& frame) { return hear({&frame, 1}); }

std::vector<Seen> Probe::hear(std::span<const wire::Frame> frames) {
  end.nic.receive(frames, now);
  return listen();
}

std::vector<Seen> Probe::listen() {
  std::vector<Seen> said;
  while (end.nic.transmit(burst_, now) > 0) {
    for (const wire::Frame& frame : burst_.frames()) {
      said.push_back({true, frame.flow, frame.headers, frame.payload_length});
    }
  }
  return said;
}

}  // namespace nerve::test
