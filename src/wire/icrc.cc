#include "wire/icrc.h"

#include <algorithm>

#include "base/check.h"
#include "base/planted.h"
#include "wire/crc32.h"
#include "wire/crc32_shift.h"
#include "wire/ip.h"

namespace nerve::wire {
namespace {

// The register after the eight bytes of ones in the place of the LRH; a constant.
constexpr std::uint32_t kAfterLrh = 0xdebb20e3;

constexpr std::size_t kIpv4Outer = Ipv4Header::kSize + UdpHeader::kSize;
constexpr std::size_t kIpv6Outer = Ipv6Header::kSize + UdpHeader::kSize;
constexpr std::byte kOnes{0xff};

void mask_ip(MutableBytes ip) {
  if (ip.size() == Ipv4Header::kSize) {
    ip[1] = ip[8] = ip[10] = ip[11] = kOnes;
  } else {
    ip[0] |= std::byte{0x0f};
    ip[1] = ip[2] = ip[3] = ip[7] = kOnes;
  }
}

}  // namespace

std::uint32_t icrc_outer(Bytes outer) {
  CHECK(outer.size() == kIpv4Outer || outer.size() == kIpv6Outer);
  std::array<std::byte, kIpv6Outer> masked;
  std::copy(outer.begin(), outer.end(), masked.begin());
  const std::size_t udp = outer.size() - UdpHeader::kSize;
  mask_ip(MutableBytes{masked}.first(udp));
  masked[udp + 6] = masked[udp + 7] = kOnes;
  return crc32(kAfterLrh, Bytes{masked}.first(outer.size()));
}

std::uint32_t icrc_bth(std::uint32_t state, std::span<const std::byte, Bth::kSize> bth) {
  std::array<std::byte, Bth::kSize> masked;
  std::copy(bth.begin(), bth.end(), masked.begin());
  masked[4] = kOnes;
  if (planted(Bug::kMiscomputeIcrc)) masked[1] = kOnes;
  return crc32(state, masked);
}

void icrc_follow(MutableBytes udp_payload, std::size_t bytes_after, std::uint16_t changed_bits) {
  if (udp_payload.size() < kIcrcSize || changed_bits == 0) return;
  const Crc32Field16 field{bytes_after + udp_payload.size() - kIcrcSize};
  std::uint32_t change = field(changed_bits);
  for (std::byte& byte : udp_payload.last<kIcrcSize>()) {
    byte ^= static_cast<std::byte>(change & 0xffU);
    change >>= 8U;
  }
}

}  // namespace nerve::wire
