// pcapng files: the blocks that carry packets, and those that define how to read them. All other
// blocks are skipped.
//
//    block    0..3  type   4..7  length of the whole block, a multiple of four
//             body         last 4  the length again
//
//    section header    type 0a0d0d0a; 8..11 the number 1a2b3c4d in the writer's byte order
//    interface         type 1; 8..9 link type; 16.. options, of which 9 is the unit of time
//    enhanced packet   type 6; 8 interface, 12 time (upper half first), 20 bytes here,
//                      24 bytes on the wire, 28.. the bytes
//    simple packet     type 3; 8 bytes on the wire, 12.. the bytes; no time
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "wire/capture_record.h"

namespace nerve::wire {

class PcapngReader {
 public:
  [[nodiscard]] static bool recognises(Bytes file);
  static Result<PcapngReader, CaptureError> open(Bytes file);
  Result<std::optional<CaptureRecord>, CaptureError> next();

 private:
  struct Interface {
    LinkType link{};
    std::uint8_t resolution{};  // if_tsresol: a power of ten, or of two with the top bit set
    std::uint32_t longest{};    // zero: no limit
  };
  using Records = Result<std::optional<CaptureRecord>, CaptureError>;

  bool begin_section();
  bool add_interface(const FileWords& block);
  Records enhanced_packet(const FileWords& block) const;
  Records simple_packet(const FileWords& block) const;

  FileWords words_{};
  std::size_t at_{};
  std::vector<Interface> interfaces_{};
};

// A timestamp in nanoseconds; exposed for its test.
[[nodiscard]] std::uint64_t pcapng_time_ns(std::uint64_t ticks, std::uint8_t resolution);

}  // namespace nerve::wire
