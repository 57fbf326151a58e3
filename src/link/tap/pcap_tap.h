// Capture taps: what passes them is also written to a file that Wireshark, tshark and `nerve
// decode` open.
//
// Frames are written as the whole packets that they are on a wire, IP and UDP headers and ICRC
// included, whatever the link makes of them: traffic in shared memory looks like RoCEv2 too. A tap
// next to the link sees what leaves; one above a fault tap would see what was meant to.
//
// Everything that is sent is captured. What is received is captured unless its sender captures it
// into the same file, for otherwise a run whose two ends share a file would show every packet
// twice; and so would a program that talks to itself. What only passes through this process is left
// to the one it is for.
#pragma once

#include <functional>

#include "link/link.h"
#include "link/tap/pcap_file.h"

namespace nerve::link {

// Captures what is sent. Given a packet that was damaged on purpose it records the damage.
class PcapEgress final : public Egress {
 public:
  PcapEgress(Egress& next, PcapFile& file) : next_{next}, file_{file} {}

  void send(std::span<const wire::Frame> frames, Time now) override;
  void send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) override;

 private:
  Egress& next_;
  PcapFile& file_;
};

// Which received frames are captured.
enum class PcapDirection : std::uint8_t {
  kSent,  // those whose sender is not known to capture
  kBoth,  // all
};

// Captures what is received, before it is delivered.
class PcapSink final : public FrameSink {
 public:
  // What the tap cannot know by itself. Where nobody says, the answer is no.
  struct Origins {
    // Whether an address belongs to this machine, where a sender may share the file.
    std::function<bool(const wire::Gid&)> is_local;
    // Whether this process sent the frame, and thus captured it.
    std::function<bool(const wire::Frame&)> is_own;
    // Whether the frame will be passed on to another process.
    std::function<bool(const wire::Frame&)> passes;
  };

  PcapSink(FrameSink& next, PcapFile& file, PcapDirection direction, Origins origins)
      : next_{next}, file_{file}, direction_{direction}, origins_{std::move(origins)} {}

  void deliver(std::span<const wire::Frame> frames, Time now) override;

 private:
  [[nodiscard]] bool captured_by_sender(const wire::Frame& frame) const;

  FrameSink& next_;
  PcapFile& file_;
  PcapDirection direction_;
  Origins origins_;
};

}  // namespace nerve::link
