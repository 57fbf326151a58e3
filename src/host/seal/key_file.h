// The file with the keys of sealed QPs. Only its owner may read it.
//
//   psk = "64 hexadecimal digits"          the same on all hosts, or:
//
//   private = "64 hexadecimal digits"      of this host
//   [peers]
//   "10.0.0.2" = "64 hexadecimal digits"   the public key of the host with this address
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "seal/noise.h"
#include "wire/gid.h"

namespace nerve::host {

class SealKeys {
 public:
  // The error is a sentence.
  [[nodiscard]] static Result<SealKeys, std::string> read(const std::string& path);

  // Nothing if the file has no key for this peer.
  [[nodiscard]] std::optional<seal::Credentials> for_peer(const wire::Gid& peer) const;

 private:
  std::optional<seal::Preshared> preshared_;
  std::optional<seal::ExchangeKey> own_;
  std::map<std::array<std::byte, 16>, seal::PublicKey> peers_;
};

// Creates the file, with a new preshared key. The error is a sentence; an existing file is one.
[[nodiscard]] std::optional<std::string> make_preshared_key(seal::Crypto& crypto,
                                                            const std::string& path);
// The same with a new private key. Returns its public key in hexadecimal digits.
[[nodiscard]] Result<std::string, std::string> make_private_key(seal::Crypto& crypto,
                                                                const std::string& path);

}  // namespace nerve::host
