#include "wire/icrc.h"

#include <algorithm>

#include "base/check.h"
#include "base/planted.h"
#include "wire/bth.h"
#include "wire/crc32.h"
#include "wire/ip.h"

namespace nerve::wire {
namespace {

// The register after the eight octets of ones that stand for the LRH, which never change.
constexpr std::uint32_t kAfterLrh = 0xdebb20e3;

constexpr std::size_t kIpv4Front = Ipv4Header::kSize + UdpHeader::kSize + Bth::kSize;
constexpr std::size_t kIpv6Front = Ipv6Header::kSize + UdpHeader::kSize + Bth::kSize;
constexpr std::byte kOnes{0xff};

void mask_ip(MutableOctets ip) {
  if (ip.size() == Ipv4Header::kSize) {
    ip[1] = ip[8] = ip[10] = ip[11] = kOnes;
  } else {
    ip[0] |= std::byte{0x0f};
    ip[1] = ip[2] = ip[3] = ip[7] = kOnes;
  }
}

}  // namespace

std::uint32_t icrc_begin(Octets front) {
  CHECK(front.size() == kIpv4Front || front.size() == kIpv6Front);
  std::array<std::byte, kIpv6Front> masked;
  std::copy(front.begin(), front.end(), masked.begin());
  const std::size_t udp = front.size() - Bth::kSize - UdpHeader::kSize;
  mask_ip(MutableOctets{masked}.first(udp));
  masked[udp + 6] = masked[udp + 7] = kOnes;
  masked[udp + UdpHeader::kSize + 4] = kOnes;
  if (planted(Bug::kMiscomputeIcrc)) masked[udp + UdpHeader::kSize + 1] = kOnes;
  return crc32(kAfterLrh, Octets{masked}.first(front.size()));
}

}  // namespace nerve::wire
