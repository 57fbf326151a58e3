// The library and the protocols on top of it, against published vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "host/seal/libcrypto.h"
#include "seal/noise.h"

namespace nerve::seal {
namespace {

Crypto& library() {
  auto loaded = host::Libcrypto::load();
  EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error());
  return **loaded;
}

std::vector<std::byte> hex(std::string_view text) {
  std::vector<std::byte> bytes;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
  }
  return bytes;
}

template <class To>
To fixed(std::string_view text) {
  To to{};
  const auto bytes = hex(text);
  if constexpr (requires { to.bytes(); }) {
    std::ranges::copy(bytes, to.bytes().begin());
  } else {
    std::ranges::copy(bytes, to.begin());
  }
  return to;
}

struct AeadVector {
  Suite suite;
  std::string_view key, nonce, associated, plain, sealed;  // sealed: with the tag
};

void check(const AeadVector& v) {
  const auto cipher = library().make_cipher(v.suite, hex(v.key));
  ASSERT_NE(cipher, nullptr);
  const auto plain = hex(v.plain);
  const auto expected = hex(v.sealed);
  const auto nonce = fixed<Nonce>(v.nonce);
  std::vector<std::byte> out(plain.size() + kTagSize);
  // In two parts, as headers and payload are.
  const std::size_t half = plain.size() / 2;
  cipher->begin_sealing(nonce, hex(v.associated));
  cipher->add(Bytes{plain}.first(half), MutableBytes{out}.first(half));
  cipher->add(Bytes{plain}.subspan(half), MutableBytes{out}.subspan(half, plain.size() - half));
  ASSERT_TRUE(cipher->finish_sealing(MutableBytes{out}.last<kTagSize>()));
  EXPECT_EQ(out, expected);

  const auto opens = [&](std::vector<std::byte> sealed) {
    const MutableBytes text = MutableBytes{sealed}.first(plain.size());
    cipher->begin_opening(nonce, hex(v.associated));
    cipher->add(text, text);
    return cipher->finish_opening(Bytes{sealed}.last<kTagSize>()) &&
           std::ranges::equal(text, plain);
  };
  EXPECT_TRUE(opens(out));
  for (std::size_t at = 0; at < out.size(); ++at) {
    auto changed = out;
    changed[at] ^= std::byte{1};
    EXPECT_FALSE(opens(changed)) << "byte " << at;
  }
}

// McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 4 and 16.
TEST(Vectors, AesGcm) {
  constexpr std::string_view kPlain =
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6"
      "b5"
      "25b16aedf5aa0de657ba637b39";
  check({.suite = Suite::kAes128Gcm,
         .key = "feffe9928665731c6d6a8f9467308308",
         .nonce = "cafebabefacedbaddecaf888",
         .associated = "feedfacedeadbeeffeedfacedeadbeefabaddad2",
         .plain = kPlain,
         .sealed =
             "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7"
             "d8f6a5aac84aa051ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47"});
  check({.suite = Suite::kAes256Gcm,
         .key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
         .nonce = "cafebabefacedbaddecaf888",
         .associated = "feedfacedeadbeeffeedfacedeadbeefabaddad2",
         .plain = kPlain,
         .sealed =
             "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da"
             "7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"});
}

// RFC 8439, 2.8.2.
TEST(Vectors, ChaCha20Poly1305) {
  check({.suite = Suite::kChaCha20Poly1305,
         .key = "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
         .nonce = "070000004041424344454647",
         .associated = "50515253c0c1c2c3c4c5c6c7",
         .plain =
             "4c616469657320616e642047656e746c656d656e206f662074686520636c617373206f66202739393a2"
             "04966204920636f756c64206f6666657220796f75206f6e6c79206f6e652074697020666f7220746865"
             "206675747572652c2073756e73637265656e20776f756c642062652069742e",
         .sealed =
             "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca967128"
             "2fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fa"
             "b324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26"
             "a7e902ecbd0600691"});
}

// GMAC has no vectors of its own in this form: its tag is that of GCM without a plaintext.
TEST(Vectors, GmacAuthenticatesWhatItLeavesReadable) {
  const auto key = hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
  const auto text = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
  const auto nonce = fixed<Nonce>("cafebabefacedbaddecaf888");
  const auto gmac = library().make_cipher(Suite::kAes256Gmac, key);
  const auto gcm = library().make_cipher(Suite::kAes256Gcm, key);
  std::vector<std::byte> out(text.size());
  std::array<std::byte, kTagSize> tag{};
  gmac->begin_sealing(nonce, Bytes{text}.first(4));
  gmac->add(Bytes{text}.subspan(4), MutableBytes{out}.subspan(4));
  ASSERT_TRUE(gmac->finish_sealing(tag));
  std::ranges::copy(Bytes{text}.first(4), out.begin());
  EXPECT_EQ(out, text);
  std::array<std::byte, kTagSize> expected{};
  gcm->begin_sealing(nonce, text);
  ASSERT_TRUE(gcm->finish_sealing(expected));
  EXPECT_EQ(tag, expected);
}

// RFC 4231, case 1, and RFC 5869, case 1: its expansion is longer than a block, so the first block.
TEST(Vectors, HmacAndHkdf) {
  EXPECT_EQ(library().authenticate(hex("0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"),
                                   hex("4869205468657265")),
            fixed<HashValue>("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"));
  std::array<std::byte, kHashSize> out{};
  expand(library(), hex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5"),
         "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9", out);
  EXPECT_EQ(out,
            fixed<HashValue>("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"));
}

// RFC 7748, 6.1.
TEST(Vectors, X25519) {
  const auto alice =
      fixed<ExchangeKey>("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
  const auto bob =
      fixed<ExchangeKey>("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
  const PublicKey alice_public = library().public_key(alice);
  const PublicKey bob_public = library().public_key(bob);
  EXPECT_EQ(alice_public,
            fixed<PublicKey>("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"));
  EXPECT_EQ(bob_public,
            fixed<PublicKey>("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"));
  const auto expected =
      fixed<HashValue>("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
  ExchangeKey result;
  ASSERT_TRUE(library().exchange(alice, bob_public, result));
  EXPECT_TRUE(std::ranges::equal(result.bytes(), expected));
  ASSERT_TRUE(library().exchange(bob, alice_public, result));
  EXPECT_TRUE(std::ranges::equal(result.bytes(), expected));
  // The point of order one: the result would be known to everybody.
  EXPECT_FALSE(library().exchange(alice, PublicKey{}, result));
}

struct NoiseVector {
  Credentials initiator, responder;
  std::string_view first, second, hash, transport_1, transport_2;
};

// The vectors of cacophony, an implementation in Haskell: both ends with these ephemeral keys and
// payloads. The transport messages after the handshake show that the secrets are right.
void check(const NoiseVector& v) {
  const auto prologue = hex("4a6f686e2047616c74");
  Noise initiator{
      library(), Noise::Side::kInitiator, v.initiator, prologue,
      fixed<ExchangeKey>("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a")};
  Noise responder{
      library(), Noise::Side::kResponder, v.responder, prologue,
      fixed<ExchangeKey>("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b")};
  const auto pass = [](Noise& from, Noise& to, std::string_view text, std::string_view message) {
    const auto payload = hex(text);
    std::vector<std::byte> bytes(payload.size() + Noise::kMessageOverhead);
    ASSERT_TRUE(from.write(payload, bytes));
    EXPECT_EQ(bytes, hex(message));
    std::vector<std::byte> read(payload.size());
    ASSERT_TRUE(to.read(bytes, read));
    EXPECT_EQ(read, payload);
  };
  pass(initiator, responder, "4c756477696720766f6e204d69736573", v.first);
  pass(responder, initiator, "4d757272617920526f746862617264", v.second);
  EXPECT_EQ(initiator.handshake_hash(), fixed<HashValue>(v.hash));
  EXPECT_EQ(responder.handshake_hash(), fixed<HashValue>(v.hash));

  const auto [from_initiator, from_responder] = responder.split();
  const auto seal = [](const ChainSecret& key, std::string_view text) {
    const auto cipher = library().make_cipher(Suite::kChaCha20Poly1305, key.bytes());
    auto bytes = hex(text);
    const std::size_t size = bytes.size();
    bytes.resize(size + kTagSize);
    cipher->begin_sealing({}, {});
    cipher->add(Bytes{bytes}.first(size), MutableBytes{bytes}.first(size));
    EXPECT_TRUE(cipher->finish_sealing(MutableBytes{bytes}.last<kTagSize>()));
    return bytes;
  };
  EXPECT_EQ(seal(from_initiator, "462e20412e20486179656b"), hex(v.transport_1));
  EXPECT_EQ(seal(from_responder, "4361726c204d656e676572"), hex(v.transport_2));
}

TEST(Vectors, NoiseNNpsk0) {
  const Preshared key{
      fixed<SharedKey>("54686973206973206d7920417573747269616e20706572737065637469766521")};
  check(
      {.initiator = key,
       .responder = key,
       .first = "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c794479b962b8aff848574"
                "2ac32f905ba45369e2465fb59e138a93d67a0d1266b6a54",
       .second = "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843d6062704d5a9c422"
                 "a8e834423f8c1feada7e8d0d910a1a2cd030fb584221e3",
       .hash = "f4d03dc34495c95729ea6de9e1b59004b59733102488b3e24bc441e0be208eaf",
       .transport_1 = "e632c3763d7669067383433197a3baddf146e9e70ad4b4e9e59e0f",
       .transport_2 = "64c6bee32ea91c8474bb4c21d7a700109ad45af77b29764ba5eb1e"});
}

TEST(Vectors, NoiseKK) {
  const Pinned initiator{
      fixed<ExchangeKey>("e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1"),
      fixed<PublicKey>("31e0303fd6418d2f8c0e78b91f22e8caed0fbe48656dcf4767e4834f701b8f62")};
  const Pinned responder{
      fixed<ExchangeKey>("4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893"),
      fixed<PublicKey>("6bc3822a2aa7f4e6981d6538692b3cdf3e6df9eea6ed269eb41d93c22757b75a")};
  check(
      {.initiator = initiator,
       .responder = responder,
       .first = "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c79440177015efc1fe7a37"
                "c629af7120a96274e6ab7afcc9261901d0e09ae32a5bb96",
       .second = "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843b274d3429adc47ca"
                 "093ba63ef90f8da89fda108db471dccfa4894aa7b00003",
       .hash = "24c6b51ecb76277140ca018b5985bc9f03de321dae2d34dcae433dafef0131d9",
       .transport_1 = "966b05bc69ec01b8454d3160a214e6f24a3d884eb31ec2408af63f",
       .transport_2 = "0ad887fba4f611bbb4afe44ba3556b8164332ca7d5934634d63d80"});
}

}  // namespace
}  // namespace nerve::seal
