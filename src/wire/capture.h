// Capture files: classic pcap and pcapng, read from bytes in memory.
//
// A file is as hostile as the wire: every length in it is checked, and a file that cannot be read
// yields an error value. Nothing here opens files; the caller supplies the bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/pcap.h"
#include "wire/pcapng.h"
#include "wire/wire_error.h"

namespace nerve::wire {

class CaptureReader {
 public:
  static Result<CaptureReader, CaptureError> open(Bytes file);

  // Returns the next record, or nothing at the end of the file. After an error the reader cannot
  // continue.
  Result<std::optional<CaptureRecord>, CaptureError> next();

 private:
  bool is_pcapng_{};
  PcapReader pcap_{};
  PcapngReader pcapng_{};
};

// The IP packet inside a captured frame; kNotRoce when the frame holds something else.
[[nodiscard]] Result<Bytes, WireError> find_ip(LinkType link, Bytes frame);

}  // namespace nerve::wire
