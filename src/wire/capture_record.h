// Types shared by the readers of capture files: records, link types, errors.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace nerve::wire {

// Link-layer header types, with the numbers of tcpdump.org's registry. Only types that can carry
// RoCEv2 are listed.
enum class LinkType : std::uint32_t {
  kNull = 0,  // BSD loopback: four bytes of address family, then IP
  kEthernet = 1,
  kRaw = 101,  // IPv4 or IPv6
  kLinuxSll = 113,
  kIpv4 = 228,
  kIpv6 = 229,
  kLinuxSll2 = 276,
};

struct CaptureRecord {
  std::uint64_t time_ns{};  // since 1970
  LinkType link{};
  Bytes bytes{};                    // what was captured
  std::uint32_t original_length{};  // on the wire; larger when the capture was cut short
};

enum class CaptureError : std::uint8_t {
  kEmpty,            // no bytes at all
  kUnknownFormat,    // neither pcap nor pcapng
  kTruncatedHeader,  // ends within the file header
  kTruncatedRecord,  // ends within a record
  kBadRecord,        // an impossible length or reference
};

[[nodiscard]] const char* to_string(CaptureError error);

// Reads words of a file whose byte order was chosen by its writer.
class FileWords {
 public:
  FileWords() = default;
  FileWords(Bytes in, bool little) : in_{in}, little_{little} {}
  [[nodiscard]] std::size_t size() const { return in_.size(); }
  [[nodiscard]] bool little() const { return little_; }
  [[nodiscard]] Bytes bytes(std::size_t at, std::size_t n) const { return in_.subspan(at, n); }

  [[nodiscard]] std::uint16_t u16(std::size_t at) const {
    const auto value = static_cast<std::uint16_t>(load_be<2>(in_, at));
    return little_ ? __builtin_bswap16(value) : value;
  }
  [[nodiscard]] std::uint32_t u32(std::size_t at) const {
    const auto value = static_cast<std::uint32_t>(load_be<4>(in_, at));
    return little_ ? __builtin_bswap32(value) : value;
  }
  [[nodiscard]] std::uint64_t u64(std::size_t at) const {
    const std::uint64_t value = load_be<8>(in_, at);
    return little_ ? __builtin_bswap64(value) : value;
  }

 private:
  Bytes in_{};
  bool little_{};
};

}  // namespace nerve::wire
