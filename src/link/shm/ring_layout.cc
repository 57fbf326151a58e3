#include "link/shm/ring_layout.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nerve::link::shm {
namespace {

constexpr std::uint32_t kMinSlots = 16, kMaxSlots = 1U << 20;
constexpr std::uint32_t kMinData = 16 * 1024, kMaxData = 1U << 28;

bool on_a_line(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory) % kLine == 0; }

}  // namespace

bool RingSize::valid() const {
  return std::has_single_bit(slots) && slots >= kMinSlots && slots <= kMaxSlots &&
         std::has_single_bit(data_bytes) && data_bytes >= kMinData && data_bytes <= kMaxData;
}

Result<RingSize, RingError> format_ring(MutableBytes memory, const RingSize& size) {
  if (!size.valid()) return Unexpected{RingError::kBadSize};
  if (memory.size() < size.bytes()) return Unexpected{RingError::kTooSmall};
  if (!on_a_line(memory.data())) return Unexpected{RingError::kMisaligned};
  std::memcpy(memory.data() + kSlotsAt, &size.slots, sizeof size.slots);
  std::memcpy(memory.data() + kDataBytesAt, &size.data_bytes, sizeof size.data_bytes);
  std::memcpy(memory.data() + kMagicAt, &kRingMagic, sizeof kRingMagic);
  return size;
}

Result<RingSize, RingError> inspect_ring(Bytes memory) {
  if (memory.size() < kHeaderPage) return Unexpected{RingError::kTooSmall};
  if (!on_a_line(memory.data())) return Unexpected{RingError::kMisaligned};
  std::uint64_t magic = 0;
  RingSize size;
  std::memcpy(&magic, memory.data() + kMagicAt, sizeof magic);
  std::memcpy(&size.slots, memory.data() + kSlotsAt, sizeof size.slots);
  std::memcpy(&size.data_bytes, memory.data() + kDataBytesAt, sizeof size.data_bytes);
  if (magic != kRingMagic) return Unexpected{RingError::kForeign};
  if (!size.valid()) return Unexpected{RingError::kBadSize};
  if (memory.size() < size.bytes()) return Unexpected{RingError::kTooSmall};
  return size;
}

//    0..15   source GID
//   16..31   destination GID
//   32..33   UDP source port
//   34       traffic class
//   35       hop limit
//   36..39   flow label
void encode_flow(const wire::Flow& flow, std::span<std::byte, kFlowSize> out) {
  std::copy(flow.source.bytes.begin(), flow.source.bytes.end(), out.begin());
  std::copy(flow.destination.bytes.begin(), flow.destination.bytes.end(), out.begin() + 16);
  store_be<2>(out, 32, flow.source_port);
  out[34] = std::byte{flow.traffic_class};
  out[35] = std::byte{flow.hop_limit};
  store_be<4>(out, 36, flow.flow_label);
}

wire::Flow decode_flow(std::span<const std::byte, kFlowSize> in) {
  wire::Flow flow;
  std::copy_n(in.begin(), 16, flow.source.bytes.begin());
  std::copy_n(in.begin() + 16, 16, flow.destination.bytes.begin());
  flow.source_port = static_cast<std::uint16_t>(load_be<2>(in, 32));
  flow.traffic_class = static_cast<std::uint8_t>(in[34]);
  flow.hop_limit = static_cast<std::uint8_t>(in[35]);
  flow.flow_label = static_cast<std::uint32_t>(load_be<4>(in, 36)) & 0xf'ffffU;
  return flow;
}

}  // namespace nerve::link::shm
