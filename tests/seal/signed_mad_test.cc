// Signed management datagrams: a host accepts what its peer signed, unchanged, and nothing else.
#include "seal/signed_mad.h"

#include <gtest/gtest.h>

#include "host/seal/libcrypto.h"

namespace nerve::seal {
namespace {

const wire::Flow kMadFlow{.source = wire::Gid::ipv4(10, 0, 0, 1),
                          .destination = wire::Gid::ipv4(10, 0, 0, 2)};
const wire::Bth kMadBth{.opcode = kSignedMadOpcode, .dest_qp = Qpn{1}, .psn = Psn{77}};

Crypto& mad_library() { return **host::Libcrypto::load(); }

Preshared preshared(std::uint8_t first) {
  Preshared made;
  made.key.bytes()[0] = std::byte{first};
  return made;
}

ChainSecret secret_of(const Credentials& credentials) {
  const auto secret = common_secret(mad_library(), credentials, kManagementPurpose);
  EXPECT_TRUE(secret);
  return secret.value_or(ChainSecret{});
}

SignedMad signed_by(const MadKey& key) {
  SignedMad mad{};
  for (std::size_t i = 0; i < wire::kMadSize; ++i) mad[i] = static_cast<std::byte>(i);
  key.sign(kMadFlow, kMadBth, mad);
  return mad;
}

TEST(SignedMads, AreAcceptedByThePeer) {
  const ChainSecret key_secret = secret_of(preshared(1));
  const MadKey key{mad_library(), key_secret};
  EXPECT_TRUE(key.verify(kMadFlow, kMadBth, signed_by(key)));
}

TEST(SignedMads, AreRefusedWithAnotherKey) {
  const ChainSecret key_secret = secret_of(preshared(1));
  const MadKey key{mad_library(), key_secret};
  const ChainSecret other_secret = secret_of(preshared(2));
  const MadKey other{mad_library(), other_secret};
  EXPECT_FALSE(other.verify(kMadFlow, kMadBth, signed_by(key)));
}

TEST(SignedMads, AreRefusedWithAnyByteChanged) {
  const ChainSecret key_secret = secret_of(preshared(1));
  const MadKey key{mad_library(), key_secret};
  const SignedMad good = signed_by(key);
  for (std::size_t i = 0; i < good.size(); ++i) {
    SignedMad changed = good;
    changed[i] ^= std::byte{0x10};
    EXPECT_FALSE(key.verify(kMadFlow, kMadBth, changed)) << i;
  }
}

TEST(SignedMads, BelongToTheirAddressesAndHeader) {
  const ChainSecret key_secret = secret_of(preshared(1));
  const MadKey key{mad_library(), key_secret};
  const SignedMad mad = signed_by(key);
  const wire::Flow back{.source = kMadFlow.destination, .destination = kMadFlow.source};
  EXPECT_FALSE(key.verify(back, kMadBth, mad)) << "sent back to its sender";
  wire::Bth bth = kMadBth;
  bth.psn = Psn{78};
  EXPECT_FALSE(key.verify(kMadFlow, bth, mad));
  bth = kMadBth;
  bth.fecn = true;  // a switch may set it
  EXPECT_TRUE(key.verify(kMadFlow, bth, mad));
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
  const ChainSecret sender_secret = secret_of(hosts[0]);
  const MadKey sender{mad_library(), sender_secret};
  const ChainSecret receiver_secret = secret_of(hosts[1]);
  const MadKey receiver{mad_library(), receiver_secret};
  const ChainSecret stranger_secret = secret_of(hosts[2]);
  const MadKey stranger{mad_library(), stranger_secret};
  EXPECT_TRUE(receiver.verify(kMadFlow, kMadBth, signed_by(sender)));
  EXPECT_FALSE(receiver.verify(kMadFlow, kMadBth, signed_by(stranger)));
}

TEST(SignedMads, HaveNoKeyIfThePeersPublicKeyRevealsIt) {
  Pinned pinned;
  mad_library().fill_random(pinned.own.bytes());
  EXPECT_FALSE(common_secret(mad_library(), pinned, kManagementPurpose));
}

}  // namespace
}  // namespace nerve::seal
