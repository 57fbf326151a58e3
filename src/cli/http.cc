#include "cli/http.h"

#include <fmt/format.h>

namespace nerve::cli {
namespace {

std::string written(const HttpAnswer& answer, bool with_body = true) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\n{}Content-Length: {}\r\nConnection: close\r\n\r\n{}",
      answer.status, answer.type, answer.headers, answer.body.size(),
      with_body ? answer.body : std::string{});
}

std::string refusal(std::string_view status, std::string_view why) {
  return written({.status = status, .type = kPlainText, .body = std::string{why}});
}

// "GET /metrics?x HTTP/1.1"
struct RequestLine {
  std::string_view method;
  std::string_view path;
  std::string_view version;
};

RequestLine split(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) return {};
  std::string_view target = line.substr(first + 1, last - first - 1);
  target = target.substr(0, target.find('?'));
  return {.method = line.substr(0, first), .path = target, .version = line.substr(last + 1)};
}

}  // namespace

HttpAnswer not_found(std::string text) {
  return {.status = "404 Not Found", .type = kPlainText, .body = std::move(text)};
}

std::optional<std::string> answer_to(std::string_view received, const HttpRoutes& routes) {
  const std::size_t end = received.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (received.size() < kLongestRequest) return std::nullopt;
    return refusal("431 Request Header Fields Too Large", "the request is too long\n");
  }
  const RequestLine request = split(received.substr(0, received.find("\r\n")));
  if (!request.version.starts_with("HTTP/1.") || !request.path.starts_with('/')) {
    return refusal("400 Bad Request", "this is not HTTP/1.1\n");
  }
  const bool head = request.method == "HEAD";
  if (request.method != "GET" && !head) {
    return refusal("405 Method Not Allowed", "only GET is answered\n");
  }
  return written(routes(request.path), !head);
}

}  // namespace nerve::cli
