// An authenticated session between an agent and the controller, over any stream of bytes. Both ends
// have the same key. Nothing is encrypted.
//
//   greeting   "NRVC" | version (1) | role (1: agent, 2: controller) | 0 0 | 32 random bytes
//   frame      length of the body (4, big-endian) | body | HMAC-SHA256 (32)
//
// Each side sends its greeting, then an empty frame, which proves that it knows the key, then its
// messages. A MAC covers the sequence number of its frame, and its key is for one direction of this
// session: a frame that was changed, dropped, repeated, reordered, reflected, or taken from another
// session ends it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "seal/key_schedule.h"
#include "seal/noise.h"

namespace nerve::cli {

// The preshared key of a file that `nerve key FILE` has created. The error is a sentence.
[[nodiscard]] Result<seal::SharedKey, std::string> read_controller_key(const std::string& path);

class ControllerSession {
 public:
  enum class Role : std::uint8_t { kAgent = 1, kController = 2 };
  static constexpr std::size_t kMaxBody = 16U << 20U;

  [[nodiscard]] static Result<ControllerSession, std::string> begin(Role role,
                                                                    std::span<const std::byte> key);

  // To be sent first.
  [[nodiscard]] std::string greeting() const;
  // Takes what has been received. Returns the bodies that are complete and verified, or why the
  // session must end; it takes nothing after that. Until the peer has proved that it knows the key,
  // at most a hundred bytes of it are kept.
  [[nodiscard]] Result<std::vector<std::string>, std::string> take(std::string_view received);
  // The peer's greeting has come: wrap() may be called. The controller wraps its first message
  // now, so that an agent with another key learns of that.
  [[nodiscard]] bool established() const { return established_; }
  // The peer knows the key.
  [[nodiscard]] bool proved() const { return proved_; }
  // The bytes to send for this body of at most kMaxBody bytes.
  [[nodiscard]] std::string wrap(std::string_view body);
  // Why a stream that ends now has ended, as far as this end can know.
  [[nodiscard]] std::string ended() const;

 private:
  static constexpr std::size_t kNonce = 32;
  // One direction.
  struct Direction {
    seal::ChainSecret key;
    std::uint64_t sequence{};
  };

  ControllerSession(seal::Crypto& crypto, Role role) : crypto_{&crypto}, role_{role} {}
  [[nodiscard]] std::string greeting_of(Role role, Bytes nonce) const;
  [[nodiscard]] std::optional<std::string> take_greeting();
  // The next body, if it is complete.
  [[nodiscard]] Result<std::optional<std::string>, std::string> take_frame(std::size_t& at);
  void derive_keys(std::string_view peer_greeting);
  [[nodiscard]] seal::HashValue mac_of(const Direction& direction, std::string_view body) const;
  [[nodiscard]] std::string frame(std::string_view body);

  seal::Crypto* crypto_;
  Role role_;
  seal::ChainSecret secret_;  // from the preshared key
  std::array<std::byte, kNonce> nonce_{};
  Direction out_;
  Direction in_;
  std::string received_;  // not taken yet
  std::string failed_;    // why, if it has
  bool established_{};
  bool proved_{};
  bool proof_sent_{};
};

}  // namespace nerve::cli
