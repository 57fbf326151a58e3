// As much of HTTP as a scraper needs: what one request is answered with. No I/O.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace nerve::cli {

inline constexpr std::size_t kLongestRequest = 8192;

// The whole answer, headers included, to what a client has sent so far; nothing while its request
// is not complete. GET /metrics is answered with what `metrics` makes, GET / with a short text,
// everything else with an error. The connection is to be closed after each.
[[nodiscard]] std::optional<std::string> answer_to(std::string_view received,
                                                   const std::function<std::string()>& metrics);

}  // namespace nerve::cli
