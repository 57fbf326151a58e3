// Capture files: classic pcap and pcapng, read from bytes in memory.
//
// A file is as hostile as a wire: every length in it is checked, and what cannot be read is a
// value that says why. Nothing here opens files; the caller brings the bytes.
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

  // The next record, or nothing at the end of the file. After an error there is no going on.
  Result<std::optional<CaptureRecord>, CaptureError> next();

 private:
  bool next_generation_{};  // which of the two is in use
  PcapReader pcap_{};
  PcapngReader pcapng_{};
};

// The IP packet inside a captured frame; kNotRoce when it holds something else.
[[nodiscard]] Result<Bytes, WireError> find_ip(LinkType link, Bytes frame);

}  // namespace nerve::wire
