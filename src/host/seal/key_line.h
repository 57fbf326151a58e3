// A line of a key log (key_log.h): what opens the packets of one direction of a sealed QP.
//
//   nerve-seal aes128-gcm 10.0.0.1 10.0.0.2 0x000012 0x1a2b3c4d 64 hexadecimal digits
//
// The words are: the suite, the source and destination of the packets, their destination QPN, their
// SPI, and the secret of epoch 0.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "seal/key_schedule.h"
#include "wire/gid.h"

namespace nerve::host {

inline constexpr std::string_view kKeyLineStart = "nerve-seal ";

struct KeyLine {
  seal::Suite suite{};
  wire::Gid source{};
  wire::Gid destination{};
  Qpn qpn{};
  std::uint32_t spi{};
  seal::ChainSecret secret;

  // Ends with a newline. The caller erases it.
  [[nodiscard]] std::string text() const;
  // `line` has no newline. The error says which word is wrong, and what it should be; it never
  // repeats the secret.
  [[nodiscard]] static Result<KeyLine, std::string> parse(std::string_view line);
};

}  // namespace nerve::host
