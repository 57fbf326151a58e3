#include "wire/uncut_train.h"

#include <algorithm>

namespace nerve::wire {
namespace {

constexpr std::size_t kShortest = Bth::kSize + kIcrcSize;
constexpr std::size_t kLongest = 4096 + 128;  // the largest path MTU plus all headers
constexpr std::size_t kStep = 4;              // packets are padded to a multiple of it

}  // namespace

std::optional<UncutTrain> UncutTrain::find(Bytes ip, const Packet& whole, std::size_t guess) {
  const std::size_t size =
      whole.headers.size() + whole.payload.size() + whole.headers.bth.pad + kIcrcSize;
  const Bytes bytes = ip.subspan(ip_size(whole.flow) + UdpHeader::kSize, size);
  if (size < 2 * kShortest) return std::nullopt;
  const auto explains = [&](std::size_t segment) {
    const auto first = decode_udp_payload(whole.flow, whole.envelope, bytes.first(segment));
    return first && first->icrc == IcrcVerdict::kGood;
  };
  const std::size_t longest = std::min(kLongest, size - kShortest);
  if (guess >= kShortest && guess <= longest && explains(guess)) {
    return UncutTrain{whole, bytes, guess};
  }
  for (std::size_t segment = kShortest; segment <= longest; segment += kStep) {
    if (explains(segment)) return UncutTrain{whole, bytes, segment};
  }
  return std::nullopt;
}

Result<Packet, WireError> UncutTrain::packet(std::size_t i) const {
  const std::size_t at = i * segment_;
  Envelope envelope = envelope_;
  envelope.identification = static_cast<std::uint16_t>(envelope_.identification + i);
  return decode_udp_payload(flow_, envelope,
                            bytes_.subspan(at, std::min(segment_, bytes_.size() - at)));
}

}  // namespace nerve::wire
