// As much of HTTP as a scraper and a browser need: what one request is answered with. No I/O.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace nerve::cli {

inline constexpr std::size_t kLongestRequest = 8192;
inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";

struct HttpAnswer {
  std::string_view status{"200 OK"};
  std::string_view type{kPlainText};
  std::string body;
  std::string_view headers{""};  // further ones, each with its line end
};

[[nodiscard]] HttpAnswer not_found(std::string text);

// Answers GET of a path, which begins with '/' and has no query.
using HttpRoutes = std::function<HttpAnswer(std::string_view path)>;

// The whole answer, headers included, to what a client has sent so far; nothing while its request
// is not complete. The connection is to be closed after each answer.
[[nodiscard]] std::optional<std::string> answer_to(std::string_view received,
                                                   const HttpRoutes& routes);

}  // namespace nerve::cli
