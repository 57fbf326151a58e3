// The pages that belong to this program: HTML files, made from web/.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace nerve::cli {

// The text of a page, for example "live.html". The error is a sentence that says what to do.
[[nodiscard]] Result<std::string, std::string> read_page(std::string_view name);

}  // namespace nerve::cli
