#include "cli/http.h"

#include <fmt/format.h>

namespace nerve::cli {
namespace {

constexpr std::string_view kPlain = "text/plain; charset=utf-8";
constexpr std::string_view kExposition = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view kWelcome = "nerve metrics\n\nGET /metrics has them, for Prometheus.\n";

std::string response(std::string_view status, std::string_view type, std::string_view body,
                     bool with_body = true) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      status, type, body.size(), with_body ? body : "");
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

std::optional<std::string> answer_to(std::string_view received,
                                     const std::function<std::string()>& metrics) {
  const std::size_t end = received.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (received.size() < kLongestRequest) return std::nullopt;
    return response("431 Request Header Fields Too Large", kPlain, "the request is too long\n");
  }
  const RequestLine request = split(received.substr(0, received.find("\r\n")));
  if (!request.version.starts_with("HTTP/1.") || !request.path.starts_with('/')) {
    return response("400 Bad Request", kPlain, "this is not HTTP/1.1\n");
  }
  const bool head = request.method == "HEAD";
  if (request.method != "GET" && !head) {
    return response("405 Method Not Allowed", kPlain, "only GET is answered\n");
  }
  if (request.path == "/metrics") return response("200 OK", kExposition, metrics(), !head);
  if (request.path == "/") return response("200 OK", kPlain, kWelcome, !head);
  return response("404 Not Found", kPlain, "there is /metrics, and nothing else\n", !head);
}

}  // namespace nerve::cli
