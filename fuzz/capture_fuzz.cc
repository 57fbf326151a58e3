// Bytes as a capture file: every record lies within the file and is decoded down to its packet.
#include "wire/capture.h"
#include "wire/packet.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nerve;
  using namespace nerve::wire;
  const Bytes input{reinterpret_cast<const std::byte*>(data), size};
  const auto opened = CaptureReader::open(input);
  if (!opened) return 0;
  CaptureReader reader = *opened;
  std::size_t total = 0;
  while (true) {
    const auto record = reader.next();
    if (!record || !record->has_value()) return 0;
    const CaptureRecord& frame = **record;
    total += frame.bytes.size();
    CHECK(total <= input.size());  // records do not overlap, so the walk ends
    if (const auto ip = find_ip(frame.link, frame.bytes)) (void)decode_packet(*ip).has_value();
  }
}
