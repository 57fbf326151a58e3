// Signed management datagrams: a host accepts what its peer signed, unchanged, and nothing else.
#include "seal/signed_mad.h"

#include <gtest/gtest.h>

#include "host/seal/libcrypto.h"

namespace nerve::seal {
namespace {

const wire::Flow kFlow{.source = wire::Gid::ipv4(10, 0, 0, 1),
                       .destination = wire::Gid::ipv4(10, 0, 0, 2)};
const wire::Bth kBth{.opcode = kSignedMadOpcode, .dest_qp = Qpn{1}, .psn = Psn{77}};

Crypto& mad_library() { return **host::Libcrypto::load(); }

Preshared preshared(std::uint8_t first) {
  Preshared made;
  made.key.bytes()[0] = std::byte{first};
  return made;
}

SignedMad signed_by(const MadKey& key) {
  SignedMad mad{};
  for (std::size_t i = 0; i < wire::kMadSize; ++i) mad[i] = static_cast<std::byte>(i);
  key.sign(kFlow, kBth, mad);
  return mad;
}

TEST(SignedMads, AreAcceptedByThePeer) {
  const auto key = MadKey::make(mad_library(), preshared(1));
  ASSERT_TRUE(key);
  EXPECT_TRUE(key->verify(kFlow, kBth, signed_by(*key)));
}

TEST(SignedMads, AreRefusedWithAnotherKey) {
  const auto key = MadKey::make(mad_library(), preshared(1));
  const auto other = MadKey::make(mad_library(), preshared(2));
  ASSERT_TRUE(key && other);
  EXPECT_FALSE(other->verify(kFlow, kBth, signed_by(*key)));
}

TEST(SignedMads, AreRefusedWithAnyByteChanged) {
  const auto key = MadKey::make(mad_library(), preshared(1));
  ASSERT_TRUE(key);
  const SignedMad good = signed_by(*key);
  for (std::size_t i = 0; i < good.size(); ++i) {
    SignedMad changed = good;
    changed[i] ^= std::byte{0x10};
    EXPECT_FALSE(key->verify(kFlow, kBth, changed)) << i;
  }
}

TEST(SignedMads, BelongToTheirAddressesAndHeader) {
  const auto key = MadKey::make(mad_library(), preshared(1));
  ASSERT_TRUE(key);
  const SignedMad mad = signed_by(*key);
  const wire::Flow back{.source = kFlow.destination, .destination = kFlow.source};
  EXPECT_FALSE(key->verify(back, kBth, mad)) << "sent back to its sender";
  wire::Bth bth = kBth;
  bth.psn = Psn{78};
  EXPECT_FALSE(key->verify(kFlow, bth, mad));
  bth = kBth;
  bth.fecn = true;  // a switch may set it
  EXPECT_TRUE(key->verify(kFlow, bth, mad));
}

TEST(SignedMads, AreAcceptedFromThePeerWhosePublicKeyIsKnown) {
  std::array<Pinned, 3> hosts;
  std::array<PublicKey, 3> known;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    mad_library().fill_random(hosts[i].own.bytes());
    known[i] = mad_library().public_key(hosts[i].own);
  }
  hosts[0].peer = known[1];
  hosts[1].peer = known[0];
  hosts[2].peer = known[1];
  const auto sender = MadKey::make(mad_library(), hosts[0]);
  const auto receiver = MadKey::make(mad_library(), hosts[1]);
  const auto stranger = MadKey::make(mad_library(), hosts[2]);
  ASSERT_TRUE(sender && receiver && stranger);
  EXPECT_TRUE(receiver->verify(kFlow, kBth, signed_by(*sender)));
  EXPECT_FALSE(receiver->verify(kFlow, kBth, signed_by(*stranger)));
}

TEST(SignedMads, HaveNoKeyIfThePeersPublicKeyRevealsIt) {
  Pinned pinned;
  mad_library().fill_random(pinned.own.bytes());
  EXPECT_FALSE(MadKey::make(mad_library(), pinned));
}

}  // namespace
}  // namespace nerve::seal
