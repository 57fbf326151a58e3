// Addresses as text: 192.0.2.1, 2001:db8::1.
#pragma once

#include <optional>
#include <string>

#include "wire/gid.h"

namespace nerve::controller {

[[nodiscard]] std::optional<wire::Gid> parse_address(const std::string& text);

}  // namespace nerve::controller
