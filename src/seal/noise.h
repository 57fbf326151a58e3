// The Noise protocol (noiseprotocol.org, revision 34), as far as sealing needs it: handshakes of
// two messages with X25519, ChaCha20-Poly1305 and SHA-256.
//
//   NNpsk0: both have one key in common           KK: both know each other's public key
//     -> psk, e                                      -> s   <- s   (before)
//     <- e, ee                                       -> e, es, ss
//                                                    <- e, ee, se
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "seal/key_schedule.h"

namespace nerve::seal {

using SharedKey = Secret<32>;

// Both sides have the same key.
struct Preshared {
  SharedKey key;
};
// Each side has its own key, and knows the peer's.
struct Pinned {
  ExchangeKey own;
  PublicKey peer{};
};
using Credentials = std::variant<Preshared, Pinned>;

class Noise {
 public:
  enum class Side : std::uint8_t { kInitiator, kResponder };
  // What a message adds to its payload.
  static constexpr std::size_t kMessageOverhead = kExchangeSize + kTagSize;

  // Both sides must have the same prologue. Draws the ephemeral key.
  Noise(Crypto& crypto, Side side, const Credentials& credentials, Bytes prologue);
  // The same with this ephemeral key, for published test vectors.
  Noise(Crypto& crypto, Side side, const Credentials& credentials, Bytes prologue,
        const ExchangeKey& ephemeral);

  // The next message: the initiator writes the first and reads the second, the responder the other
  // way round. Both return false if the handshake has failed; it cannot go on then. `out` has
  // kMessageOverhead bytes more than the payload.
  [[nodiscard]] bool write(Bytes payload, MutableBytes out);
  [[nodiscard]] bool read(Bytes message, MutableBytes payload);

  // After both messages: the secrets of the initiator's direction and of the responder's.
  [[nodiscard]] std::pair<ChainSecret, ChainSecret> split() const;
  [[nodiscard]] const HashValue& handshake_hash() const { return hash_; }

 private:
  void start(const Credentials& credentials, Bytes prologue);
  [[nodiscard]] bool is_initiator() const { return side_ == Side::kInitiator; }
  void mix_hash(Bytes data);
  void mix_key(Bytes data);
  void mix_key_and_hash(Bytes data);
  void mix_ephemeral(const PublicKey& key);
  [[nodiscard]] bool mix_exchange(const ExchangeKey& own, const PublicKey& peer);
  // The tokens of a message after its "e".
  [[nodiscard]] bool mix_first();
  [[nodiscard]] bool mix_second();
  [[nodiscard]] bool encrypt(Bytes in, MutableBytes out);
  [[nodiscard]] bool decrypt(Bytes in, MutableBytes out);

  Crypto& crypto_;
  Side side_;
  bool first_{true};  // the next message is the first one
  std::optional<Pinned> pinned_;
  PublicKey own_public_{};  // of `pinned_`
  ExchangeKey ephemeral_;
  PublicKey peer_ephemeral_{};
  ChainSecret chain_;
  HashValue hash_{};
  SharedKey key_;
  std::uint64_t counter_{};  // of `key_`
};

}  // namespace nerve::seal
