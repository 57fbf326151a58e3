// The keys of one direction of a sealed QP. Each epoch has its own; those of the next epoch follow
// from a secret that is erased with the epoch, so a key that leaks opens nothing older.
#pragma once

#include <memory>
#include <string_view>

#include "seal/crypto.h"

namespace nerve::seal {

using ChainSecret = Secret<kHashSize>;

// HKDF-Expand (RFC 5869) with SHA-256, up to one block.
void expand(Crypto& crypto, Bytes secret, std::string_view label, MutableBytes out);

// The secret of the epoch after that of `secret`.
[[nodiscard]] ChainSecret following(Crypto& crypto, const ChainSecret& secret);

// The key and the nonces of one epoch.
class EpochKey {
 public:
  EpochKey() = default;
  EpochKey(Crypto& crypto, Suite suite, const ChainSecret& secret);

  [[nodiscard]] explicit operator bool() const { return cipher_ != nullptr; }
  [[nodiscard]] Cipher& cipher() const { return *cipher_; }
  [[nodiscard]] Nonce nonce(std::uint64_t counter) const;

 private:
  std::unique_ptr<Cipher> cipher_;
  Nonce base_{};
};

// Hands out the keys of one epoch after the other.
class KeySchedule {
 public:
  KeySchedule(Crypto& crypto, Suite suite, const ChainSecret& first)
      : crypto_{&crypto}, suite_{suite}, secret_{first} {}

  [[nodiscard]] EpochKey next();

 private:
  Crypto* crypto_;
  Suite suite_;
  ChainSecret secret_;  // of the epoch that next() returns
};

}  // namespace nerve::seal
