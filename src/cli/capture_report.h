// The reports of `nerve decode`: one pass over the frames of a capture, with three output formats.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "host/seal/capture_keys.h"
#include "wire/capture.h"
#include "wire/packet.h"

namespace nerve::cli {

struct CaptureCounts {
  std::uint64_t frames{};       // of any kind
  std::uint64_t good{};         // RoCEv2, correct ICRC
  std::uint64_t bad{};          // RoCEv2, wrong ICRC
  std::uint64_t skipped{};      // not RoCEv2
  std::uint64_t undecodable{};  // malformed RoCEv2
  std::uint64_t trains{};       // frames with several packets, captured before segmentation
  std::uint64_t sealed{};       // which have no ICRC; each is one of the next five
  std::uint64_t opened{};
  std::uint64_t not_authentic{};
  std::uint64_t no_key{};
  std::uint64_t handshake{};
  std::uint64_t unknown_seal{};  // a version or kind that we do not know
  std::uint64_t first_ns{};
  std::uint64_t last_ns{};
  std::map<std::uint8_t, std::uint64_t> opcodes;

  [[nodiscard]] std::uint64_t packets() const { return good + bad + undecodable + sealed; }
};

class CaptureReport {
 public:
  virtual ~CaptureReport() = default;
  // `counts` includes the packet; counts.frames is the number of its frame. The packets of a train
  // share one frame.
  virtual void packet(const CaptureCounts& counts, const wire::CaptureRecord& record,
                      const wire::Packet& packet) = 0;
  virtual void sealed_packet(const CaptureCounts& /*counts*/, const wire::CaptureRecord& /*record*/,
                             const host::SealedPacket& /*sealed*/) {}
  virtual void summary(const CaptureCounts& counts) = 0;
};

[[nodiscard]] std::unique_ptr<CaptureReport> make_text_report(std::string file);
[[nodiscard]] std::unique_ptr<CaptureReport> make_check_report(std::string file);
[[nodiscard]] std::unique_ptr<CaptureReport> make_json_report(std::string file);

// Reads the capture and reports its frames in the order of their times; opens those that `keys` has
// keys for. Problems go to standard error; returns false if there were any.
bool report_capture(const std::string& file, Bytes bytes, host::CaptureKeys& keys,
                    CaptureReport& report);

}  // namespace nerve::cli
