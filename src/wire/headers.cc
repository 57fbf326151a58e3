#include "wire/headers.h"

namespace nerve::wire {
namespace {

constexpr unsigned kPlacementMask = 0x0f, kSelectivityShift = 4, kSelectivityMask = 0x3;
constexpr std::uint32_t kMask24 = 0xff'ffff;

// Reader and Writer proceed from front to back. The caller has checked that there are enough bytes.
class Reader {
 public:
  explicit Reader(Bytes in) : in_{in} {}
  template <std::size_t N>
  std::uint64_t take() {
    const std::uint64_t value = load_be<N>(in_, at_);
    at_ += N;
    return value;
  }
  std::uint32_t take32() { return static_cast<std::uint32_t>(take<4>()); }
  std::uint32_t take24() { return static_cast<std::uint32_t>(take<3>()); }
  std::uint8_t take8() { return static_cast<std::uint8_t>(take<1>()); }

 private:
  Bytes in_;
  std::size_t at_{};
};

class Writer {
 public:
  explicit Writer(MutableBytes out) : out_{out} {}
  template <std::size_t N>
  void put(std::uint64_t value) {
    store_be<N>(out_, at_, value);
    at_ += N;
  }

 private:
  MutableBytes out_;
  std::size_t at_{};
};

void decode_extended(const OpcodeInfo& info, Reader in, Headers& to) {
  using enum HeaderSet;
  if (contains(info.headers, kDeth)) {
    to.deth.qkey = in.take32();
    in.take8();
    to.deth.source_qp = Qpn{in.take24()};
  }
  if (contains(info.headers, kXrcEth)) {
    in.take8();
    to.xrc_srq = in.take24();
  }
  if (contains(info.headers, kFeth)) {
    const std::uint32_t word = in.take32();
    to.feth.placement = static_cast<std::uint8_t>(word & kPlacementMask);
    to.feth.selectivity = static_cast<std::uint8_t>(word >> kSelectivityShift & kSelectivityMask);
  }
  if (contains(info.headers, kReth)) {
    to.reth.address = in.take<8>();
    to.reth.rkey = RKey{in.take32()};
    to.reth.length = in.take32();
  }
  if (contains(info.headers, kAtomicEth)) {
    to.atomic.address = in.take<8>();
    to.atomic.rkey = RKey{in.take32()};
    to.atomic.swap_or_add = in.take<8>();
    to.atomic.compare = in.take<8>();
  }
  if (contains(info.headers, kAeth)) {
    to.aeth.syndrome = in.take8();
    to.aeth.msn = in.take24();
  }
  if (contains(info.headers, kAtomicAckEth)) to.atomic_ack = in.take<8>();
  if (contains(info.headers, kImmDt)) to.immediate = in.take32();
  if (contains(info.headers, kIeth)) to.invalidate = RKey{in.take32()};
}

void encode_extended(const OpcodeInfo& info, const Headers& from, Writer out) {
  using enum HeaderSet;
  if (contains(info.headers, kDeth)) {
    out.put<4>(from.deth.qkey);
    out.put<4>(from.deth.source_qp.value());
  }
  if (contains(info.headers, kXrcEth)) out.put<4>(from.xrc_srq & kMask24);
  if (contains(info.headers, kFeth)) {
    out.put<4>((from.feth.selectivity & kSelectivityMask) << kSelectivityShift |
               (from.feth.placement & kPlacementMask));
  }
  if (contains(info.headers, kReth)) {
    out.put<8>(from.reth.address);
    out.put<4>(from.reth.rkey.value());
    out.put<4>(from.reth.length);
  }
  if (contains(info.headers, kAtomicEth)) {
    out.put<8>(from.atomic.address);
    out.put<4>(from.atomic.rkey.value());
    out.put<8>(from.atomic.swap_or_add);
    out.put<8>(from.atomic.compare);
  }
  if (contains(info.headers, kAeth)) {
    out.put<1>(from.aeth.syndrome);
    out.put<3>(from.aeth.msn & kMask24);
  }
  if (contains(info.headers, kAtomicAckEth)) out.put<8>(from.atomic_ack);
  if (contains(info.headers, kImmDt)) out.put<4>(from.immediate);
  if (contains(info.headers, kIeth)) out.put<4>(from.invalidate.value());
  if (contains(info.headers, kCnpPad)) {
    out.put<8>(0);
    out.put<8>(0);
  }
}

}  // namespace

Result<Headers, WireError> Headers::decode(Bytes in) {
  Headers headers;
  if (decode_into(in, headers) == 0) return Unexpected{WireError::kTruncated};
  return headers;
}

std::size_t Headers::decode_into(Bytes in, Headers& to) {
  if (in.size() < Bth::kSize) return 0;
  to = {};
  Bth::decode_into(in.first<Bth::kSize>(), to.bth);
  const OpcodeInfo* info = find_opcode(to.bth.opcode);
  if (info == nullptr) return Bth::kSize;
  const std::size_t size = Bth::kSize + info->extended_bytes;
  if (in.size() < size) return 0;
  decode_extended(*info, Reader{in.subspan(Bth::kSize)}, to);
  return size;
}

void Headers::encode(MutableBytes out) const {
  CHECK(out.size() >= size());
  bth.encode(out.first<Bth::kSize>());
  const OpcodeInfo* info = find_opcode(bth.opcode);
  if (info != nullptr) encode_extended(*info, *this, Writer{out.subspan(Bth::kSize)});
}

std::size_t Headers::size() const {
  const OpcodeInfo* info = find_opcode(bth.opcode);
  return Bth::kSize + (info != nullptr ? info->extended_bytes : 0U);
}

}  // namespace nerve::wire
