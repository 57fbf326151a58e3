// Classic pcap files: a reader for both byte orders and time units, and a writer.
//
//    file     0..3  magic: a1b2c3d4 (microseconds) or a1b23c4d (nanoseconds), in the writer's order
//             4..7  version   8..15  zone, accuracy: zero   16..19  longest record   20..23  link
//    record   0..3  seconds   4..7  fraction   8..11  bytes here   12..15  bytes on the wire
//             then the bytes
#pragma once

#include <optional>

#include "base/result.h"
#include "wire/capture_record.h"

namespace nerve::wire {

class PcapReader {
 public:
  static constexpr std::size_t kFileHeader = 24;
  static constexpr std::size_t kRecordHeader = 16;

  static Result<PcapReader, CaptureError> open(Bytes file);
  Result<std::optional<CaptureRecord>, CaptureError> next();

 private:
  FileWords words_{};
  std::size_t at_{};
  LinkType link_{};
  std::uint32_t fraction_ns_{};  // unit of a record's fraction
};

// For writers: big-endian, nanoseconds. The caller writes the bytes after each header.
void encode_pcap_header(std::span<std::byte, PcapReader::kFileHeader> out, LinkType link);
void encode_pcap_record(std::span<std::byte, PcapReader::kRecordHeader> out, std::uint64_t time_ns,
                        std::uint32_t captured, std::uint32_t original);

}  // namespace nerve::wire
