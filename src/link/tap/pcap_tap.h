// Capture taps: packets that pass are also written to a file for Wireshark, tshark and `nerve
// decode`.
//
// Frames are written as complete packets with IP and UDP headers and ICRC, whatever the link does
// with them: traffic in shared memory looks like RoCEv2 too. A tap next to the link captures what
// really leaves, after fault injection.
//
// Every sent packet is captured. A received packet is captured unless its sender captures it into
// the same file; otherwise every packet would appear twice if both ends share a file, or if a
// program talks to itself. Packets that are forwarded are left to the process they are for.
#pragma once

#include <functional>

#include "link/link.h"
#include "link/tap/pcap_file.h"

namespace nerve::link {

// Captures sent packets. Corrupted packets are recorded as they are sent.
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

// Captures received frames before they are delivered.
class PcapSink final : public FrameSink {
 public:
  // What the tap cannot find out by itself. A missing function means no.
  struct Origins {
    // True for an address of this machine, where a sender may share the file.
    std::function<bool(const wire::Gid&)> is_local;
    // True if this process sent the frame, and so has captured it.
    std::function<bool(const wire::Frame&)> is_own;
    // True if the frame will be forwarded to another process.
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
