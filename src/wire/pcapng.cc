#include "wire/pcapng.h"

#include <algorithm>

namespace nerve::wire {
namespace {

constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a, kInterface = 1, kSimple = 3, kEnhanced = 6;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::size_t kSmallestBlock = 12, kSectionSize = 28;
constexpr std::size_t kInterfaceSize = 20, kEnhancedSize = 32, kSimpleSize = 16;
constexpr std::size_t kTrailer = 4;
constexpr std::uint8_t kMicrosecondResolution = 6;
constexpr std::uint16_t kOptionEnd = 0, kOptionResolution = 9;

constexpr std::size_t round_up(std::size_t n) { return (n + 3) & ~std::size_t{3}; }

std::uint8_t resolution_of(const FileWords& block) {
  std::size_t at = 16;
  while (at + 4 + kTrailer <= block.size()) {
    const std::uint16_t code = block.u16(at);
    const std::uint16_t length = block.u16(at + 2);
    if (code == kOptionEnd || length > block.size() - kTrailer - at - 4) break;
    if (code == kOptionResolution && length == 1) {
      return static_cast<std::uint8_t>(block.bytes(at + 4, 1)[0]);
    }
    at += 4 + round_up(length);
  }
  return kMicrosecondResolution;
}

}  // namespace

std::uint64_t pcapng_time_ns(std::uint64_t ticks, std::uint8_t resolution) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const unsigned power = resolution & 0x7fU;
  if ((resolution & 0x80U) == 0) {
    std::uint64_t scale = 1;
    for (unsigned i = std::min(power, 9U); i < std::max(power, 9U) && i < 28; ++i) scale *= 10;
    if (power > 28) return 0;
    return power <= 9 ? ticks * scale : ticks / scale;
  }
  if (power > 63) return 0;
  // 34 bits of fraction are finer than a nanosecond and leave room for the multiplication by 10^9.
  std::uint64_t fraction = ticks & ((std::uint64_t{1} << power) - 1);
  const unsigned kept = std::min(power, 34U);
  fraction >>= power - kept;
  return (ticks >> power) * kSecond + (fraction * kSecond >> kept);
}

bool PcapngReader::recognises(Bytes file) {
  return file.size() >= 4 && load_be<4>(file, 0) == kSectionHeader;
}

Result<PcapngReader, CaptureError> PcapngReader::open(Bytes file) {
  if (!recognises(file)) return Unexpected{CaptureError::kUnknownFormat};
  if (file.size() < kSectionSize) return Unexpected{CaptureError::kTruncatedHeader};
  PcapngReader reader;
  reader.words_ = FileWords{file, false};
  // Reading the section header here distinguishes a damaged one from a file without packets.
  if (!reader.begin_section()) return Unexpected{CaptureError::kUnknownFormat};
  return reader;
}

// Each section has its own byte order and its own interfaces.
bool PcapngReader::begin_section() {
  if (words_.size() - at_ < kSectionSize) return false;
  const Bytes file = words_.bytes(0, words_.size());
  for (const bool little : {false, true}) {
    const FileWords words{file, little};
    if (words.u32(at_ + 8) != kByteOrder) continue;
    words_ = words;
    interfaces_.clear();
    return true;
  }
  return false;
}

bool PcapngReader::add_interface(const FileWords& block) {
  if (block.size() < kInterfaceSize) return false;
  interfaces_.push_back({.link = static_cast<LinkType>(block.u16(8)),
                         .resolution = resolution_of(block),
                         .longest = block.u32(12)});
  return true;
}

PcapngReader::Records PcapngReader::enhanced_packet(const FileWords& block) const {
  if (block.size() < kEnhancedSize) return Unexpected{CaptureError::kBadRecord};
  const std::uint32_t interface = block.u32(8);
  const std::uint32_t captured = block.u32(20);
  if (interface >= interfaces_.size()) return Unexpected{CaptureError::kBadRecord};
  if (captured > block.size() - kEnhancedSize) return Unexpected{CaptureError::kBadRecord};
  const std::uint64_t ticks = std::uint64_t{block.u32(12)} << 32U | block.u32(16);
  return std::optional{CaptureRecord{
      .time_ns = pcapng_time_ns(ticks, interfaces_[interface].resolution),
      .link = interfaces_[interface].link,
      .bytes = block.bytes(kEnhancedSize - kTrailer, captured),
      .original_length = block.u32(24),
  }};
}

PcapngReader::Records PcapngReader::simple_packet(const FileWords& block) const {
  if (block.size() < kSimpleSize || interfaces_.empty()) {
    return Unexpected{CaptureError::kBadRecord};
  }
  const std::uint32_t original = block.u32(8);
  const std::uint32_t longest = interfaces_[0].longest;
  const std::uint32_t captured = longest == 0 ? original : std::min(original, longest);
  if (captured > block.size() - kSimpleSize) return Unexpected{CaptureError::kBadRecord};
  return std::optional{CaptureRecord{.link = interfaces_[0].link,
                                     .bytes = block.bytes(kSimpleSize - kTrailer, captured),
                                     .original_length = original}};
}

Result<std::optional<CaptureRecord>, CaptureError> PcapngReader::next() {
  while (at_ < words_.size()) {
    const std::size_t left = words_.size() - at_;
    if (left < kSmallestBlock) return Unexpected{CaptureError::kTruncatedRecord};
    const std::uint32_t type = words_.u32(at_);
    if (type == kSectionHeader && !begin_section()) return Unexpected{CaptureError::kBadRecord};
    const std::uint32_t length = words_.u32(at_ + 4);
    if (length < kSmallestBlock || length % 4 != 0) return Unexpected{CaptureError::kBadRecord};
    if (length > left) return Unexpected{CaptureError::kTruncatedRecord};
    const FileWords block{words_.bytes(at_, length), words_.little()};
    at_ += length;
    if (type == kEnhanced) return enhanced_packet(block);
    if (type == kSimple) return simple_packet(block);
    if (type == kInterface && !add_interface(block)) return Unexpected{CaptureError::kBadRecord};
  }
  return std::optional<CaptureRecord>{};
}

}  // namespace nerve::wire
