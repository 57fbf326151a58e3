// Goal: the codecs agree with a real peer. Method: every frame that Linux rdma_rxe put on the wire
// decodes, has the ICRC verdict that an independent program found, and re-encodes to the bytes
// that were captured, in both forms of a packet.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/golden/captures.h"
#include "wire/capture.h"
#include "wire/describe.h"
#include "wire/ethernet.h"
#include "wire/icrc.h"
#include "wire/ip.h"
#include "wire/packet.h"

namespace nerve::golden {
namespace {

using namespace nerve::wire;

class GoldenWire : public testing::TestWithParam<Expected> {};

// A frame whose ICRC is wrong on purpose is encoded with the right one, so only the bytes before it
// are compared.
Bytes comparable(const Packet& packet, Bytes bytes) {
  return packet.icrc == IcrcVerdict::kGood ? bytes : bytes.first(bytes.size() - kIcrcSize);
}

void expect_same(Bytes got, Bytes want) {
  ASSERT_EQ(got.size(), want.size());
  const auto differ = std::mismatch(got.begin(), got.end(), want.begin());
  EXPECT_EQ(differ.first, got.end()) << "byte " << differ.first - got.begin();
}

void expect_ethernet_round_trip(Bytes frame) {
  const auto header = EthernetHeader::decode(frame);
  ASSERT_TRUE(header);
  std::vector<std::byte> again(header->size());
  header->encode(again);
  expect_same(again, frame.first(again.size()));
}

// A UDP socket delivers the packet without its identification, which real peers choose freely.
void expect_identification_found(const Packet& packet, Bytes udp_payload) {
  OuterSum outer{packet.flow, udp_payload.size()};
  Frame frame;
  Piece piece;
  const auto unseen = decode_after_sum(outer, 0, udp_payload, frame, piece);
  ASSERT_TRUE(unseen);
  EXPECT_EQ(unseen->icrc, packet.icrc);
  if (packet.icrc == IcrcVerdict::kGood) {
    EXPECT_EQ(unseen->identification, packet.envelope.identification);
  }
}

void expect_round_trip(const Packet& packet, Bytes ip) {
  Piece piece;
  const Frame frame = packet.frame(piece);
  std::vector<std::byte> again(packet_size(frame));
  ASSERT_EQ(encode_packet(frame, packet.envelope, again), again.size());
  const Bytes want = ip.first(again.size());
  expect_same(comparable(packet, again), comparable(packet, want));

  std::vector<std::byte> inner(udp_payload_size(frame));
  ASSERT_EQ(encode_udp_payload(frame, packet.envelope, inner), inner.size());
  const Bytes want_inner = want.last(inner.size());
  expect_same(comparable(packet, inner), comparable(packet, want_inner));

  expect_identification_found(packet, want_inner);
  const auto from_inner = decode_udp_payload(packet.flow, packet.envelope, want_inner);
  ASSERT_TRUE(from_inner);
  EXPECT_EQ(from_inner->headers, packet.headers);
  EXPECT_EQ(from_inner->envelope, packet.envelope);
  EXPECT_EQ(from_inner->icrc, packet.icrc);
}

TEST_P(GoldenWire, DecodesAndReencodes) {
  const std::vector<std::byte> file = read_capture(GetParam().file);
  auto reader = CaptureReader::open(file);
  ASSERT_TRUE(reader) << to_string(reader.error());
  CaptureReader capture = *reader;
  std::size_t good = 0;
  std::size_t bad = 0;
  while (true) {
    const auto record = capture.next();
    ASSERT_TRUE(record) << to_string(record.error());
    if (!record->has_value()) break;
    const CaptureRecord& frame = **record;
    SCOPED_TRACE("frame " + std::to_string(good + bad + 1));
    const auto ip = find_ip(frame.link, frame.bytes);
    ASSERT_TRUE(ip);
    const auto packet = decode_packet(*ip);
    ASSERT_TRUE(packet) << wire::to_string(packet.error());
    SCOPED_TRACE(describe(*packet));
    ++(packet->icrc == IcrcVerdict::kGood ? good : bad);
    expect_ethernet_round_trip(frame.bytes);
    expect_round_trip(*packet, *ip);
    if (HasFailure()) return;  // the first bad frame is enough to debug
  }
  EXPECT_EQ(good + bad, GetParam().packets);
  EXPECT_EQ(good, GetParam().good);
  EXPECT_EQ(bad, GetParam().bad);
}

std::string test_name(const testing::TestParamInfo<Expected>& info) {
  std::string name = info.param.file.substr(0, info.param.file.find('.'));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Captures, GoldenWire, testing::ValuesIn(expected_captures()), test_name);

TEST(GoldenCaptures, HaveARowEach) {
  std::vector<std::string> present;
  for (const auto& entry :
       std::filesystem::directory_iterator{NERVE_SOURCE_DIR "/tests/golden/captures"}) {
    if (entry.path().extension() == ".pcap") present.push_back(entry.path().filename().string());
  }
  std::sort(present.begin(), present.end());
  std::vector<std::string> expected;
  for (const Expected& row : expected_captures()) expected.push_back(row.file);
  EXPECT_EQ(present, expected);
  EXPECT_FALSE(expected.empty());
}

}  // namespace
}  // namespace nerve::golden
