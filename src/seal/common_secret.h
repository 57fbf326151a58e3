// What two hosts have in common without a handshake. It does not change, so what it protects is
// open to somebody who learns the credentials later.
#pragma once

#include <optional>

#include "seal/noise.h"

namespace nerve::seal {

// For one purpose. Nothing if the peer's public key is not one.
[[nodiscard]] std::optional<ChainSecret> common_secret(Crypto& crypto,
                                                       const Credentials& credentials,
                                                       std::string_view purpose);

inline constexpr std::string_view kManagementPurpose = "nerve seal management";
inline constexpr std::string_view kDatagramPurpose = "nerve seal datagrams";

}  // namespace nerve::seal
