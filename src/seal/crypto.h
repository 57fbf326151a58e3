// What sealing needs of a cryptographic library. The library is outside: libcrypto in a live
// process (host/seal/libcrypto.h), toys that notice a reused nonce in tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/bytes.h"

namespace nerve::seal {

inline constexpr std::size_t kTagSize = 16;
inline constexpr std::size_t kNonceSize = 12;
inline constexpr std::size_t kHashSize = 32;      // SHA-256
inline constexpr std::size_t kExchangeSize = 32;  // X25519: private keys, public keys, results

using Nonce = std::array<std::byte, kNonceSize>;

// The values are those of the wire (docs/wire-seal.md).
enum class Suite : std::uint8_t {
  kAes128Gcm = 1,
  kAes256Gcm = 2,
  kChaCha20Poly1305 = 3,
  kAes256Gmac = 4,  // authenticates without encrypting
};
inline constexpr std::uint8_t kSuites = 4;

[[nodiscard]] constexpr std::size_t key_size(Suite suite) {
  return suite == Suite::kAes128Gcm ? 16 : 32;
}

// Bytes that are overwritten when they are no longer needed.
template <std::size_t Size>
class Secret {
 public:
  Secret() = default;
  ~Secret() { erase(); }
  Secret(const Secret&) = default;
  Secret& operator=(const Secret&) = default;

  [[nodiscard]] std::span<const std::byte, Size> bytes() const { return bytes_; }
  [[nodiscard]] std::span<std::byte, Size> bytes() { return bytes_; }
  void erase() { ::explicit_bzero(bytes_.data(), Size); }

 private:
  std::array<std::byte, Size> bytes_{};
};

using HashValue = std::array<std::byte, kHashSize>;
using ExchangeKey = Secret<kExchangeSize>;
using PublicKey = std::array<std::byte, kExchangeSize>;

// A key of one suite. A packet is sealed, or opened, by begin(), add() for each part of it in
// order, and finish().
class Cipher {
 public:
  virtual ~Cipher() = default;

  virtual void begin_sealing(const Nonce& nonce, Bytes associated) = 0;
  virtual void begin_opening(const Nonce& nonce, Bytes associated) = 0;
  // `out` has the size of `in`, and may be the same bytes.
  virtual void add(Bytes in, MutableBytes out) = 0;
  // The tag of what was sealed. False if the library failed.
  [[nodiscard]] virtual bool finish_sealing(std::span<std::byte, kTagSize> tag) = 0;
  // True if the tag is right in all of its bytes. Otherwise nothing that add() wrote may be used.
  [[nodiscard]] virtual bool finish_opening(std::span<const std::byte, kTagSize> tag) = 0;
};

class Crypto {
 public:
  virtual ~Crypto() = default;

  // Null if the library does not have the suite. `key` has key_size(suite) bytes.
  [[nodiscard]] virtual std::unique_ptr<Cipher> make_cipher(Suite suite, Bytes key) = 0;
  [[nodiscard]] virtual HashValue hash(Bytes in) = 0;
  [[nodiscard]] virtual HashValue authenticate(Bytes key, Bytes in) = 0;  // HMAC

  virtual void fill_random(MutableBytes out) = 0;
  [[nodiscard]] virtual PublicKey public_key(const ExchangeKey& own) = 0;
  // False if the result is all zero: the peer's key is one of the few that reveal it.
  [[nodiscard]] virtual bool exchange(const ExchangeKey& own, const PublicKey& peer,
                                      ExchangeKey& result) = 0;
};

}  // namespace nerve::seal
