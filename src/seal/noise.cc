#include "seal/noise.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace nerve::seal {
namespace {

constexpr std::string_view kPresharedName = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
constexpr std::string_view kPinnedName = "Noise_KK_25519_ChaChaPoly_SHA256";

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span{text.data(), text.size()}); }

// The HKDF of Noise: as many values as asked for.
template <std::size_t Count>
std::array<Secret<kHashSize>, Count> derive(Crypto& crypto, Bytes chain, Bytes input) {
  Secret<kHashSize> temporary;
  std::ranges::copy(crypto.authenticate(chain, input), temporary.bytes().begin());
  std::array<Secret<kHashSize>, Count> values;
  Secret<kHashSize + 1> block;
  for (std::size_t i = 0; i < Count; ++i) {
    const std::size_t before = i == 0 ? 0 : kHashSize;
    block.bytes()[before] = static_cast<std::byte>(i + 1);
    const HashValue value =
        crypto.authenticate(temporary.bytes(), Bytes{block.bytes()}.first(before + 1));
    std::ranges::copy(value, values[i].bytes().begin());
    std::ranges::copy(value, block.bytes().begin());
  }
  return values;
}

ExchangeKey random_key(Crypto& crypto) {
  ExchangeKey key;
  crypto.fill_random(key.bytes());
  return key;
}

Nonce nonce_of(std::uint64_t counter) {
  Nonce nonce{};
  for (std::size_t i = 0; i < 8; ++i) nonce[4 + i] = static_cast<std::byte>(counter >> (8 * i));
  return nonce;
}

}  // namespace

Noise::Noise(Crypto& crypto, Side side, const Credentials& credentials, Bytes prologue)
    : Noise{crypto, side, credentials, prologue, random_key(crypto)} {}

Noise::Noise(Crypto& crypto, Side side, const Credentials& credentials, Bytes prologue,
             const ExchangeKey& ephemeral)
    : crypto_{crypto}, side_{side}, ephemeral_{ephemeral} {
  start(credentials, prologue);
}

void Noise::start(const Credentials& credentials, Bytes prologue) {
  const auto* const preshared = std::get_if<Preshared>(&credentials);
  const std::string_view name = preshared != nullptr ? kPresharedName : kPinnedName;
  if (name.size() <= kHashSize) {
    std::ranges::copy(bytes_of(name), hash_.begin());
  } else {
    hash_ = crypto_.hash(bytes_of(name));
  }
  std::ranges::copy(hash_, chain_.bytes().begin());
  mix_hash(prologue);
  if (preshared != nullptr) {
    mix_key_and_hash(preshared->key.bytes());
    return;
  }
  pinned_ = std::get<Pinned>(credentials);
  own_public_ = crypto_.public_key(pinned_->own);
  mix_hash(is_initiator() ? own_public_ : pinned_->peer);
  mix_hash(is_initiator() ? pinned_->peer : own_public_);
}

void Noise::mix_hash(Bytes data) {
  std::vector<std::byte> both(hash_.begin(), hash_.end());
  both.insert(both.end(), data.begin(), data.end());
  hash_ = crypto_.hash(both);
}

void Noise::mix_key(Bytes data) {
  auto [chain, key] = derive<2>(crypto_, chain_.bytes(), data);
  chain_ = chain;
  key_ = key;
  counter_ = 0;
}

void Noise::mix_key_and_hash(Bytes data) {
  auto [chain, hash, key] = derive<3>(crypto_, chain_.bytes(), data);
  chain_ = chain;
  mix_hash(hash.bytes());
  key_ = key;
  counter_ = 0;
}

void Noise::mix_ephemeral(const PublicKey& key) {
  mix_hash(key);
  if (!pinned_) mix_key(key);  // with a preshared key
}

bool Noise::mix_exchange(const ExchangeKey& own, const PublicKey& peer) {
  ExchangeKey result;
  if (!crypto_.exchange(own, peer, result)) return false;
  mix_key(result.bytes());
  return true;
}

bool Noise::mix_first() {
  if (!pinned_) return true;
  // es: the initiator's ephemeral key and the responder's static one; ss: both static ones.
  const bool es = is_initiator() ? mix_exchange(ephemeral_, pinned_->peer)
                                 : mix_exchange(pinned_->own, peer_ephemeral_);
  return es && mix_exchange(pinned_->own, pinned_->peer);
}

bool Noise::mix_second() {
  if (!mix_exchange(ephemeral_, peer_ephemeral_)) return false;
  if (!pinned_) return true;
  // se: the initiator's static key and the responder's ephemeral one.
  return is_initiator() ? mix_exchange(pinned_->own, peer_ephemeral_)
                        : mix_exchange(ephemeral_, pinned_->peer);
}

bool Noise::write(Bytes payload, MutableBytes out) {
  CHECK(first_ == is_initiator() && out.size() == payload.size() + kMessageOverhead);
  const PublicKey own = crypto_.public_key(ephemeral_);
  std::ranges::copy(own, out.begin());
  mix_ephemeral(own);
  const bool mixed = first_ ? mix_first() : mix_second();
  first_ = !first_;
  return mixed && encrypt(payload, out.subspan(kExchangeSize));
}

bool Noise::read(Bytes message, MutableBytes payload) {
  CHECK(first_ != is_initiator());
  if (message.size() != payload.size() + kMessageOverhead) return false;
  std::ranges::copy(message.first(kExchangeSize), peer_ephemeral_.begin());
  mix_ephemeral(peer_ephemeral_);
  const bool mixed = first_ ? mix_first() : mix_second();
  first_ = !first_;
  return mixed && decrypt(message.subspan(kExchangeSize), payload);
}

bool Noise::encrypt(Bytes in, MutableBytes out) {
  const auto cipher = crypto_.make_cipher(Suite::kChaCha20Poly1305, key_.bytes());
  if (!cipher) return false;
  cipher->begin_sealing(nonce_of(counter_++), hash_);
  cipher->add(in, out.first(in.size()));
  if (!cipher->finish_sealing(out.last<kTagSize>())) return false;
  mix_hash(out);
  return true;
}

bool Noise::decrypt(Bytes in, MutableBytes out) {
  const auto cipher = crypto_.make_cipher(Suite::kChaCha20Poly1305, key_.bytes());
  if (!cipher) return false;
  cipher->begin_opening(nonce_of(counter_++), hash_);
  cipher->add(in.first(out.size()), out);
  if (!cipher->finish_opening(in.last<kTagSize>())) return false;
  mix_hash(in);
  return true;
}

std::pair<ChainSecret, ChainSecret> Noise::split() const {
  const auto [first, second] = derive<2>(crypto_, chain_.bytes(), {});
  return {first, second};
}

}  // namespace nerve::seal
