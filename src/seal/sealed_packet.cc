#include "seal/sealed_packet.h"

#include <algorithm>

#include "base/planted.h"

namespace nerve::seal {

Associated associated_data(const wire::Flow& flow, std::span<const std::byte, kClearSize> clear) {
  constexpr std::size_t kGidSize = sizeof(wire::Gid);
  Associated data{};
  std::ranges::copy(flow.source.bytes, data.begin());
  std::ranges::copy(flow.destination.bytes, data.begin() + kGidSize);
  if (planted(Bug::kBthNotAuthenticated)) return data;
  std::ranges::copy(clear, data.begin() + 2 * kGidSize);
  data[2 * kGidSize + kBthMutableByte] = std::byte{0xff};
  return data;
}

}  // namespace nerve::seal
