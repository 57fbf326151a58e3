// Bytes as a packet: a packet that decodes must encode to one that decodes to the same, and must
// have a description.
#include <algorithm>
#include <vector>

#include "wire/describe.h"
#include "wire/packet.h"

namespace nerve::wire {
namespace {

void check_round_trip(const Packet& packet) {
  Piece piece;
  const Frame frame = packet.frame(piece);
  std::vector<std::byte> bytes(packet_size(frame));
  CHECK(encode_packet(frame, packet.envelope, bytes) == bytes.size());
  const auto again = decode_packet(bytes);
  CHECK(again.has_value());
  CHECK(again->icrc == IcrcVerdict::kGood);
  CHECK(again->flow == packet.flow);
  CHECK(again->envelope == packet.envelope);
  CHECK(again->headers == packet.headers);
  CHECK(std::ranges::equal(again->payload, packet.payload));
}

}  // namespace
}  // namespace nerve::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nerve;
  using namespace nerve::wire;
  const Bytes input{reinterpret_cast<const std::byte*>(data), size};
  if (const auto packet = decode_packet(input)) {
    CHECK(!describe(*packet).empty());
    check_round_trip(*packet);
  }
  // The same bytes as a UDP payload between known addresses.
  Flow flow{.source = Gid::ipv4(10, 0, 0, 1), .destination = Gid::ipv4(10, 0, 0, 2)};
  if (const auto packet = decode_udp_payload(flow, {}, input)) check_round_trip(*packet);
  return 0;
}
