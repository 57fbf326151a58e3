// OpenSSL's libcrypto as the library of sealing. It is loaded when the first key is needed: a
// program that seals nothing does not need it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "seal/crypto.h"

namespace nerve::host {

class Libcrypto {
 public:
  // Loads libcrypto.so.3 once for the process. The error is a sentence. Never unloaded.
  [[nodiscard]] static Result<seal::Crypto*, std::string> load();
  // "OpenSSL 3.0.22 25 Aug 2026", of the library that load() found.
  [[nodiscard]] static std::string version();
};

}  // namespace nerve::host
