// Bytes as hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace nerve::host {

// False if the text is not exactly the digits of `out`.
[[nodiscard]] bool read_hex(std::string_view text, MutableBytes out);
[[nodiscard]] std::string hex_of(Bytes bytes);

}  // namespace nerve::host
