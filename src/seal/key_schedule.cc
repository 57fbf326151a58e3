#include "seal/key_schedule.h"

#include <algorithm>

#include "base/check.h"

namespace nerve::seal {

void expand(Crypto& crypto, Bytes secret, std::string_view label, MutableBytes out) {
  constexpr std::size_t kMaxLabel = 63;
  CHECK(label.size() <= kMaxLabel && out.size() <= kHashSize);
  std::array<std::byte, kMaxLabel + 1> info{};
  std::ranges::transform(label, info.begin(), [](char c) { return static_cast<std::byte>(c); });
  info[label.size()] = std::byte{1};  // the number of the block
  const HashValue block = crypto.authenticate(secret, Bytes{info}.first(label.size() + 1));
  std::copy_n(block.begin(), out.size(), out.begin());
}

ChainSecret following(Crypto& crypto, const ChainSecret& secret) {
  ChainSecret next;
  expand(crypto, secret.bytes(), "nerve seal next", next.bytes());
  return next;
}

EpochKey::EpochKey(Crypto& crypto, Suite suite, const ChainSecret& secret) {
  Secret<kHashSize> key;
  const MutableBytes used = key.bytes().first(key_size(suite));
  expand(crypto, secret.bytes(), "nerve seal key", used);
  expand(crypto, secret.bytes(), "nerve seal nonce", base_);
  cipher_ = crypto.make_cipher(suite, used);
}

Nonce EpochKey::nonce(std::uint64_t counter) const {
  Nonce nonce{};
  store_be<8>(nonce, kNonceSize - 8, counter);
  for (std::size_t i = 0; i < kNonceSize; ++i) nonce[i] ^= base_[i];
  return nonce;
}

EpochKey KeySchedule::next() {
  EpochKey key{*crypto_, suite_, secret_};
  secret_ = following(*crypto_, secret_);
  return key;
}

}  // namespace nerve::seal
