#include "wire/pcap.h"

namespace nerve::wire {
namespace {

constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4, kNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kLinkMask = 0xffff;  // the bits above it: whether frames end in a checksum
constexpr std::uint32_t kLongestRecord = 0x40000;
constexpr std::uint64_t kSecond = 1'000'000'000;

}  // namespace

Result<PcapReader, CaptureError> PcapReader::open(Bytes file) {
  if (file.size() < 4) return Unexpected{CaptureError::kUnknownFormat};
  PcapReader reader;
  for (const bool little : {false, true}) {
    const FileWords words{file, little};
    const std::uint32_t magic = words.u32(0);
    if (magic != kMicroseconds && magic != kNanoseconds) continue;
    reader.words_ = words;
    reader.fraction_ns_ = magic == kMicroseconds ? 1000 : 1;
  }
  if (reader.fraction_ns_ == 0) return Unexpected{CaptureError::kUnknownFormat};
  if (file.size() < kFileHeader) return Unexpected{CaptureError::kTruncatedHeader};
  reader.link_ = static_cast<LinkType>(reader.words_.u32(20) & kLinkMask);
  reader.at_ = kFileHeader;
  return reader;
}

Result<std::optional<CaptureRecord>, CaptureError> PcapReader::next() {
  const std::size_t left = words_.size() - at_;
  if (left == 0) return std::optional<CaptureRecord>{};
  if (left < kRecordHeader) return Unexpected{CaptureError::kTruncatedRecord};
  const std::uint32_t captured = words_.u32(at_ + 8);
  if (captured > left - kRecordHeader) return Unexpected{CaptureError::kTruncatedRecord};
  const CaptureRecord record{
      .time_ns = words_.u32(at_) * kSecond + std::uint64_t{words_.u32(at_ + 4)} * fraction_ns_,
      .link = link_,
      .bytes = words_.bytes(at_ + kRecordHeader, captured),
      .original_length = words_.u32(at_ + 12),
  };
  at_ += kRecordHeader + captured;
  return std::optional{record};
}

void encode_pcap_header(std::span<std::byte, PcapReader::kFileHeader> out, LinkType link) {
  store_be<4>(out, 0, kNanoseconds);
  store_be<2>(out, 4, 2);
  store_be<2>(out, 6, 4);
  store_be<8>(out, 8, 0);
  store_be<4>(out, 16, kLongestRecord);
  store_be<4>(out, 20, static_cast<std::uint32_t>(link));
}

void encode_pcap_record(std::span<std::byte, PcapReader::kRecordHeader> out, std::uint64_t time_ns,
                        std::uint32_t captured, std::uint32_t original) {
  store_be<4>(out, 0, time_ns / kSecond);
  store_be<4>(out, 4, time_ns % kSecond);
  store_be<4>(out, 8, captured);
  store_be<4>(out, 12, original);
}

}  // namespace nerve::wire
