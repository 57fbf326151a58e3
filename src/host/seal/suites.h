// The names of cipher suites, and which of them to use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "seal/crypto.h"

namespace nerve::host {

[[nodiscard]] std::string name_of(seal::Suite suite);
// "auto", or one or several names with ',' between, the best one first.
[[nodiscard]] std::optional<std::vector<seal::Suite>> parse_suites(std::string_view text);
// AES where the CPU has instructions for it, otherwise ChaCha20 first.
[[nodiscard]] std::vector<seal::Suite> default_suites();

}  // namespace nerve::host
