// Frames to send through a tap, and an Egress and a FrameSink that record what comes out.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "link/link.h"
#include "wire/packet.h"

namespace nerve::link {

inline constexpr wire::Gid kHere = wire::Gid::ipv4(192, 0, 2, 1);
inline constexpr wire::Gid kThere = wire::Gid::ipv4(192, 0, 2, 2);

// A frame that owns its payload.
class TestFrame {
 public:
  TestFrame(const char* opcode, std::uint32_t qpn, std::uint32_t psn, std::size_t payload = 16)
      : payload_(payload, static_cast<std::byte>(psn & 0xffU)) {
    for (unsigned code = 0; code < 256; ++code) {
      const wire::OpcodeInfo* info = wire::find_opcode(static_cast<wire::Opcode>(code));
      if (info != nullptr && std::string{info->name} == opcode) {
        headers_.bth.opcode = static_cast<std::uint8_t>(code);
      }
    }
    headers_.bth.dest_qp = Qpn{qpn};
    headers_.bth.psn = Psn{psn};
    headers_.bth.pad = wire::pad_for(static_cast<std::uint32_t>(payload));
  }

  // Refers to this object, which must not move.
  [[nodiscard]] wire::Frame frame() {
    piece_ = {.address = reinterpret_cast<std::uint64_t>(payload_.data()),
              .length = static_cast<std::uint32_t>(payload_.size())};
    return {.flow = {.source = kHere, .destination = kThere},
            .headers = headers_,
            .payload = {&piece_, payload_.empty() ? 0U : 1U},
            .payload_length = piece_.length};
  }

 private:
  std::vector<std::byte> payload_;
  wire::Headers headers_{};
  wire::Piece piece_{};
};

// A packet that passed the taps.
struct Sent {
  wire::Flow flow{};
  std::uint8_t opcode{};
  std::uint32_t qpn{};
  std::uint32_t psn{};
  bool good{};      // ICRC correct
  bool as_bytes{};  // sent by send_bytes
  bool continues_train{};
  friend bool operator==(const Sent&, const Sent&) = default;
};

class Recorder final : public Egress, public FrameSink {
 public:
  void send(std::span<const wire::Frame> frames, Time) override {
    ++bursts;
    for (const wire::Frame& frame : frames) {
      std::vector<std::byte> bytes(wire::udp_payload_size(frame));
      wire::encode_udp_payload(frame, {}, bytes);
      add(frame.flow, bytes, false, frame.continues_train);
    }
  }
  void send_bytes(const wire::Flow& flow, Bytes udp_payload, Time) override {
    add(flow, udp_payload, true, false);
  }
  void deliver(std::span<const wire::Frame> frames, Time at) override { send(frames, at); }

  [[nodiscard]] std::vector<std::uint32_t> psns() const {
    std::vector<std::uint32_t> all;
    for (const Sent& one : sent) all.push_back(one.psn);
    return all;
  }

  std::vector<Sent> sent;
  std::size_t bursts{};

 private:
  void add(const wire::Flow& flow, Bytes bytes, bool as_bytes, bool continues_train) {
    const auto packet = wire::decode_udp_payload(flow, {}, bytes);
    Sent one{.flow = flow, .as_bytes = as_bytes, .continues_train = continues_train};
    if (packet) {
      one.opcode = packet->headers.bth.opcode;
      one.qpn = packet->headers.bth.dest_qp.value();
      one.psn = packet->headers.bth.psn.value();
      one.good = packet->icrc == wire::IcrcVerdict::kGood;
    }
    sent.push_back(one);
  }
};

}  // namespace nerve::link
