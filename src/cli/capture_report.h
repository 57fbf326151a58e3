// What `nerve decode` tells of a capture: one walk over its frames, three ways to print it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "wire/capture.h"
#include "wire/packet.h"

namespace nerve::cli {

struct CaptureCounts {
  std::uint64_t frames{};       // of any kind
  std::uint64_t good{};         // RoCEv2, ICRC as it should be
  std::uint64_t bad{};          // RoCEv2, ICRC wrong
  std::uint64_t skipped{};      // not RoCEv2
  std::uint64_t undecodable{};  // RoCEv2 that makes no sense
  std::uint64_t trains{};       // frames that held several packets, not cut yet
  std::uint64_t first_ns{};
  std::uint64_t last_ns{};
  std::map<std::uint8_t, std::uint64_t> opcodes;

  [[nodiscard]] std::uint64_t packets() const { return good + bad + undecodable; }
};

class CaptureReport {
 public:
  virtual ~CaptureReport() = default;
  // `counts` includes the packet; the number of its frame is counts.frames. A train is a frame of
  // several packets.
  virtual void packet(const CaptureCounts& counts, const wire::CaptureRecord& record,
                      const wire::Packet& packet) = 0;
  virtual void summary(const CaptureCounts& counts) = 0;
};

[[nodiscard]] std::unique_ptr<CaptureReport> make_text_report(std::string file);
[[nodiscard]] std::unique_ptr<CaptureReport> make_check_report(std::string file);
[[nodiscard]] std::unique_ptr<CaptureReport> make_json_report(std::string file);

// Walks the capture. What is wrong with it goes to standard error; false when something was.
bool report_capture(const std::string& file, Bytes bytes, CaptureReport& report);

}  // namespace nerve::cli
