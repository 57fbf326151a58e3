#include "seal/signed_mad.h"

#include <algorithm>

#include "base/planted.h"
#include "seal/sealed_packet.h"

namespace nerve::seal {
HashValue MadKey::mac_of(const wire::Flow& flow, const wire::Bth& bth, Bytes mad) const {
  constexpr std::size_t kGids = 2 * sizeof(wire::Gid);
  std::array<std::byte, kGids + wire::Bth::kSize + wire::kMadSize> text{};
  std::ranges::copy(flow.source.bytes, text.begin());
  std::ranges::copy(flow.destination.bytes, text.begin() + sizeof(wire::Gid));
  const auto header = std::span{text}.subspan<kGids, wire::Bth::kSize>();
  bth.encode(header);
  header[0] = std::byte{kSignedMadOpcode};
  header[kBthMutableByte] = std::byte{0xff};
  std::ranges::copy(mad, text.begin() + kGids + wire::Bth::kSize);
  return crypto_.authenticate(secret_.bytes(), text);
}

void MadKey::sign(const wire::Flow& flow, const wire::Bth& bth, SignedMad& mad) const {
  const HashValue mac = mac_of(flow, bth, Bytes{mad}.first(wire::kMadSize));
  std::copy_n(mac.begin(), kTagSize, mad.begin() + wire::kMadSize);
}

bool MadKey::verify(const wire::Flow& flow, const wire::Bth& bth, const SignedMad& mad) const {
  if (planted(Bug::kUnsignedMadAccepted)) return true;
  const HashValue mac = mac_of(flow, bth, Bytes{mad}.first(wire::kMadSize));
  // Every byte is compared, so that the time tells nothing.
  std::byte differs{};
  for (std::size_t i = 0; i < kTagSize; ++i) differs |= mac[i] ^ mad[wire::kMadSize + i];
  return differs == std::byte{};
}

}  // namespace nerve::seal
