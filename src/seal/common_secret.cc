#include "seal/common_secret.h"

namespace nerve::seal {

std::optional<ChainSecret> common_secret(Crypto& crypto, const Credentials& credentials,
                                         std::string_view purpose) {
  ChainSecret secret;
  if (const auto* const preshared = std::get_if<Preshared>(&credentials)) {
    expand(crypto, preshared->key.bytes(), purpose, secret.bytes());
    return secret;
  }
  const auto& pinned = std::get<Pinned>(credentials);
  ExchangeKey common;
  if (!crypto.exchange(pinned.own, pinned.peer, common)) return std::nullopt;
  expand(crypto, common.bytes(), purpose, secret.bytes());
  return secret;
}

}  // namespace nerve::seal
