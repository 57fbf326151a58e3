#include "wire/capture.h"

#include "wire/ethernet.h"

namespace nerve::wire {
namespace {

constexpr std::size_t kNullSize = 4, kSllSize = 16, kSllType = 14, kSll2Size = 20, kSll2Type = 0;

bool is_ip(std::uint16_t ether_type) {
  return ether_type == kEtherTypeIpv4 || ether_type == kEtherTypeIpv6;
}

// Linux "cooked" headers have a fixed size, with the EtherType at a given offset.
Result<Bytes, WireError> after_cooked(Bytes frame, std::size_t size, std::size_t type_at) {
  if (frame.size() < size) return Unexpected{WireError::kTruncated};
  if (!is_ip(static_cast<std::uint16_t>(load_be<2>(frame, type_at)))) {
    return Unexpected{WireError::kNotRoce};
  }
  return frame.subspan(size);
}

}  // namespace

const char* to_string(CaptureError error) {
  switch (error) {
    case CaptureError::kEmpty:
      return "the file is empty";
    case CaptureError::kUnknownFormat:
      return "not a pcap or pcapng file";
    case CaptureError::kTruncatedHeader:
      return "the file ends within its header";
    case CaptureError::kTruncatedRecord:
      return "the file ends within a packet";
    case CaptureError::kBadRecord:
      return "a packet record contradicts itself";
  }
  return "unknown";
}

Result<CaptureReader, CaptureError> CaptureReader::open(Bytes file) {
  if (file.empty()) return Unexpected{CaptureError::kEmpty};
  CaptureReader capture;
  capture.is_pcapng_ = PcapngReader::recognises(file);
  if (capture.is_pcapng_) {
    const auto reader = PcapngReader::open(file);
    if (!reader) return Unexpected{reader.error()};
    capture.pcapng_ = *reader;
  } else {
    const auto reader = PcapReader::open(file);
    if (!reader) return Unexpected{reader.error()};
    capture.pcap_ = *reader;
  }
  return capture;
}

Result<std::optional<CaptureRecord>, CaptureError> CaptureReader::next() {
  return is_pcapng_ ? pcapng_.next() : pcap_.next();
}

Result<Bytes, WireError> find_ip(LinkType link, Bytes frame) {
  switch (link) {
    case LinkType::kEthernet: {
      const auto ethernet = EthernetHeader::decode(frame);
      if (!ethernet) return Unexpected{ethernet.error()};
      if (!is_ip(ethernet->ether_type)) return Unexpected{WireError::kNotRoce};
      return frame.subspan(ethernet->size());
    }
    case LinkType::kRaw:
    case LinkType::kIpv4:
    case LinkType::kIpv6:
      return frame;
    case LinkType::kNull:
      if (frame.size() < kNullSize) return Unexpected{WireError::kTruncated};
      return frame.subspan(kNullSize);
    case LinkType::kLinuxSll:
      return after_cooked(frame, kSllSize, kSllType);
    case LinkType::kLinuxSll2:
      return after_cooked(frame, kSll2Size, kSll2Type);
  }
  return Unexpected{WireError::kNotRoce};
}

}  // namespace nerve::wire
