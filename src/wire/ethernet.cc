#include "wire/ethernet.h"

#include <algorithm>

#include "base/check.h"

namespace nerve::wire {
namespace {

constexpr std::size_t kAddresses = 12, kTagSize = 4, kTypeSize = 2;

std::uint16_t load_field(Bytes in, std::size_t at) {
  return static_cast<std::uint16_t>(load_be<2>(in, at));
}

}  // namespace

Result<EthernetHeader, WireError> EthernetHeader::decode(Bytes in) {
  if (in.size() < kAddresses + kTypeSize) return Unexpected{WireError::kTruncated};
  EthernetHeader header;
  std::copy_n(in.begin(), 6, header.destination.begin());
  std::copy_n(in.begin() + 6, 6, header.source.begin());
  std::size_t at = kAddresses;
  header.ether_type = load_field(in, at);
  while (is_vlan_tag(header.ether_type)) {
    if (header.tag_count == kMaxTags) return Unexpected{WireError::kBadField};
    if (in.size() < at + kTagSize + kTypeSize) return Unexpected{WireError::kTruncated};
    header.tags[header.tag_count++] = {header.ether_type, load_field(in, at + 2)};
    at += kTagSize;
    header.ether_type = load_field(in, at);
  }
  return header;
}

void EthernetHeader::encode(MutableBytes out) const {
  CHECK(tag_count <= kMaxTags && out.size() >= size());
  std::copy(destination.begin(), destination.end(), out.begin());
  std::copy(source.begin(), source.end(), out.begin() + 6);
  std::size_t at = kAddresses;
  for (std::size_t i = 0; i < tag_count; ++i, at += kTagSize) {
    store_be<2>(out, at, tags[i].type);
    store_be<2>(out, at + 2, tags[i].control);
  }
  store_be<2>(out, at, ether_type);
}

}  // namespace nerve::wire
