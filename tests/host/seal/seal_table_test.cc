// Goal: what a process with sealed QPs accepts of packets that are not for its sessions alone:
// management datagrams, and sealed packets that another process read from the socket.
#include "host/seal/seal_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "host/seal/libcrypto.h"
#include "seal/sealed_packet.h"

namespace nerve::host {
namespace {

using Arrival = SealTable::Arrival;

constexpr wire::Gid kHere = wire::Gid::ipv4(10, 0, 0, 1);
constexpr wire::Gid kThere = wire::Gid::ipv4(10, 0, 0, 2);
constexpr Qpn kOwn{0x8001};
constexpr Qpn kPeer{0x8002};
constexpr wire::Opcode kUdSend = wire::opcode(wire::Transport::kUd, wire::Operation::kSendOnly);

// What `make` has written into a file.
template <class Make>
SealKeys keys_of(Make make) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("nerve-table-key-" + std::to_string(::getpid())))
          .string();
  std::filesystem::remove(path);
  make(path);
  SealKeys keys = *SealKeys::read(path);
  std::filesystem::remove(path);
  return keys;
}

std::shared_ptr<const SealSetup> setup_with(SealMode mode, const SealKeys& keys) {
  auto setup = std::make_shared<SealSetup>();
  setup->policy.mode = mode;
  setup->suites = {seal::Suite::kAes128Gcm};
  setup->crypto = *Libcrypto::load();
  setup->keys = make_secret<SealKeys>(setup->memory, keys);
  return setup;
}

// Both ends of a test have the preshared key of the same number.
std::shared_ptr<const SealSetup> setup_with(SealMode mode, std::uint8_t key) {
  static std::map<std::uint8_t, SealKeys> keys;
  if (!keys.contains(key)) {
    keys.emplace(key, keys_of([](const std::string& path) {
                   EXPECT_EQ(make_preshared_key(**Libcrypto::load(), path), std::nullopt);
                 }));
  }
  return setup_with(mode, keys.at(key));
}

// A frame with payload of its own.
struct Sample {
  Sample(wire::Opcode opcode, Qpn to, std::size_t size) : bytes(size, std::byte{0x3c}) {
    frame.flow = {.source = kHere, .destination = kThere};
    frame.headers.bth = {.opcode = opcode, .dest_qp = to};
    refer();
  }
  void refer() {
    piece = {.address = reinterpret_cast<std::uint64_t>(bytes.data()),
             .length = static_cast<std::uint32_t>(bytes.size())};
    frame.payload = {&piece, 1};
    frame.payload_length = piece.length;
  }
  // A copy of what another call returned.
  explicit Sample(const wire::Frame& like) : frame{like} {
    for (const wire::Piece& part : like.payload) {
      const auto* from = reinterpret_cast<const std::byte*>(part.address);
      bytes.insert(bytes.end(), from, from + part.length);
    }
    refer();
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  std::vector<std::byte> bytes;
  wire::Piece piece{};
  wire::Frame frame{};
};

bool same_payload(const wire::Frame& frame, Bytes expected) {
  return frame.payload.size() == 1 && frame.payload_length == expected.size() &&
         std::ranges::equal(
             Bytes{reinterpret_cast<const std::byte*>(frame.payload[0].address), expected.size()},
             expected);
}

TEST(SealTable, SignsManagementDatagramsForItsPeer) {
  SealTable here{setup_with(SealMode::kRequire, 1)};
  SealTable there{setup_with(SealMode::kRequire, 1)};
  SealTable stranger{setup_with(SealMode::kRequire, 2)};
  const Sample plain{kUdSend, Qpn{1}, wire::kMadSize};
  const auto made = here.mads.sign(plain.frame);
  ASSERT_TRUE(made);
  Sample arrived{*made};
  EXPECT_TRUE(SealTable::is_closed(arrived.frame));
  const auto opened = there.open(arrived.frame, Time{});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->headers.bth.opcode, kUdSend);
  EXPECT_EQ(opened->headers.deth, (wire::Deth{.qkey = wire::kGsiQkey, .source_qp = Qpn{1}}));
  EXPECT_TRUE(same_payload(*opened, plain.bytes));
  EXPECT_FALSE(stranger.open(arrived.frame, Time{}));
  arrived.bytes[100] ^= std::byte{1};
  EXPECT_FALSE(there.open(arrived.frame, Time{}));
}

TEST(SealTable, HandlesManagementDatagramsOfAnySize) {
  SealTable table{setup_with(SealMode::kRequire, 1)};
  for (const std::size_t size : {0, 1, 255, 257, 271, 273, 4096}) {
    EXPECT_FALSE(table.mads.sign(Sample{kUdSend, Qpn{1}, size}.frame)) << size;
    EXPECT_FALSE(table.open(Sample{seal::kSignedMadOpcode, Qpn{1}, size}.frame, Time{})) << size;
  }
}

TEST(SealTable, AcceptsPlainDatagramsWhereThePolicyAllowsThem) {
  SealTable requires_it{setup_with(SealMode::kRequire, 1)};
  SealTable prefers_it{setup_with(SealMode::kPrefer, 1)};
  const Sample mad{kUdSend, Qpn{1}, wire::kMadSize};
  EXPECT_FALSE(requires_it.accepts(mad.frame, Arrival::kNetwork));
  EXPECT_TRUE(requires_it.accepts(mad.frame, Arrival::kRing));
  EXPECT_TRUE(prefers_it.accepts(mad.frame, Arrival::kNetwork));
  EXPECT_FALSE(requires_it.mads.may_be_plain(kThere));
  EXPECT_TRUE(prefers_it.mads.may_be_plain(kThere));
}

// Two tables that have agreed on keys.
struct Pair {
  Pair() {
    here.connect({.gid = kHere, .qpn = kOwn}, {.gid = kThere, .qpn = kPeer}, now);
    there.connect({.gid = kThere, .qpn = kPeer}, {.gid = kHere, .qpn = kOwn}, now);
    for (int i = 0; i < 10; ++i) {
      now += std::chrono::seconds{1};
      pass(session(here, kThere, kOwn), session(there, kHere, kPeer));
      pass(session(there, kHere, kPeer), session(here, kThere, kOwn));
    }
  }
  static seal::Session& session(SealTable& table, const wire::Gid& from, Qpn own) {
    std::array<std::byte, wire::Bth::kSize> bth{};
    wire::Bth{.opcode = seal::kSealedOpcode, .dest_qp = own}.encode(bth);
    return dynamic_cast<seal::Session&>(*table.opener_of({.source = from}, bth));
  }
  void pass(seal::Session& from, seal::Session& to) const {
    std::vector<std::byte> packet(seal::Session::kMaxPacket);
    packet.resize(from.next_packet(now, packet));
    wire::Frame frame;
    wire::Piece piece;
    if (!packet.empty()) (void)to.receive(from.flow(), packet, now, frame, piece);
  }

  Time now;
  SealTable here{setup_with(SealMode::kRequire, 1)};
  SealTable there{setup_with(SealMode::kRequire, 1)};
};

TEST(SealTable, OpensSealedPacketsThatAnotherProcessRead) {
  Pair pair;
  seal::Session& from = Pair::session(pair.here, kThere, kOwn);
  ASSERT_TRUE(from.is_open());
  for (const std::size_t size : {0, 1, 256, 4096}) {
    const Sample plain{wire::opcode(wire::Transport::kRc, wire::Operation::kSendOnly), kPeer, size};
    std::vector<std::byte> packet(seal::sealed_size(plain.frame));
    ASSERT_TRUE(from.seal(plain.frame, pair.now, packet));
    // As the other process forwards it.
    Sample arrived{seal::kSealedOpcode, kPeer, 0};
    arrived.frame.headers.bth = *wire::Bth::decode(packet);
    arrived.bytes.assign(packet.begin() + wire::Bth::kSize, packet.end());
    arrived.refer();
    const auto opened = pair.there.open(arrived.frame, pair.now);
    ASSERT_TRUE(opened) << size;
    EXPECT_TRUE(opened->sealed);
    EXPECT_EQ(opened->payload_length, size);
    EXPECT_FALSE(pair.there.open(arrived.frame, pair.now)) << "a replay";
  }
}

TEST(SealTable, ForwardedPlainPacketsReachNoSealedQp) {
  Pair pair;
  const Sample plain{wire::opcode(wire::Transport::kRc, wire::Operation::kSendOnly), kPeer, 8};
  EXPECT_FALSE(pair.there.accepts(plain.frame, Arrival::kNetwork));
  EXPECT_FALSE(pair.there.accepts(plain.frame, Arrival::kRing));
}

TEST(SealTable, SealsDatagramsWhereTheyMustBe) {
  SealTable here{setup_with(SealMode::kRequire, 1)};
  SealTable there{setup_with(SealMode::kRequire, 1)};
  SealTable stranger{setup_with(SealMode::kRequire, 2)};
  for (const wire::Gid& to : {kThere, wire::Gid::ipv4(239, 0, 0, 9)}) {
    Sample plain{kUdSend, kPeer, 300};
    plain.frame.flow.destination = to;
    const auto way = here.way_of(plain.frame.flow, plain.frame.headers.bth);
    ASSERT_NE(way.sealer, nullptr);
    std::vector<std::byte> packet(seal::sealed_size(plain.frame));
    ASSERT_TRUE(way.sealer->seal(plain.frame, Time{}, packet));
    std::vector<std::byte> copy = packet;
    wire::Frame frame;
    wire::Piece piece;
    const auto open = [&](SealTable& table, std::vector<std::byte>& bytes) {
      seal::Opener* const opener = table.opener_of(plain.frame.flow, bytes);
      return opener != nullptr ? opener->receive(plain.frame.flow, bytes, Time{}, frame, piece)
                               : seal::Opening::kUnknown;
    };
    EXPECT_EQ(open(stranger, copy), seal::Opening::kForged);
    ASSERT_EQ(open(there, packet), seal::Opening::kGood);
    EXPECT_TRUE(same_payload(frame, plain.bytes));
  }
}

TEST(SealTable, SaysWhyAMulticastGroupGetsNothingWithKeyPairs) {
  SealTable table{setup_with(SealMode::kRequire, keys_of([](const std::string& path) {
                               EXPECT_TRUE(make_private_key(**Libcrypto::load(), path));
                             }))};
  Sample datagram{kUdSend, kPeer, 8};
  datagram.frame.flow.destination = wire::Gid::ipv4(239, 0, 0, 9);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(table.way_of(datagram.frame.flow, datagram.frame.headers.bth).may_send);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("preshared key"), std::string::npos);
}

TEST(SealTable, SendsNothingInTheClearThatMustBeSealed) {
  SealTable requires_it{setup_with(SealMode::kRequire, 1)};
  SealTable prefers_it{setup_with(SealMode::kPrefer, 1)};
  const Sample datagram{kUdSend, kPeer, 8};
  const Sample connected{wire::opcode(wire::Transport::kRc, wire::Operation::kSendOnly), kPeer, 8};
  const auto way = [](SealTable& table, const Sample& of) {
    return table.way_of(of.frame.flow, of.frame.headers.bth);
  };
  EXPECT_NE(way(requires_it, datagram).sealer, nullptr);
  EXPECT_FALSE(way(requires_it, connected).may_send) << "its QP has no session yet";
  EXPECT_TRUE(way(prefers_it, datagram).may_send);
  EXPECT_EQ(way(prefers_it, datagram).sealer, nullptr) << "the peer may not be able to open it";
}

}  // namespace
}  // namespace nerve::host
