#include "cli/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace nerve::cli {
namespace {

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

template <class Address>
ListenAddress made(const Address& address, bool loopback, std::string text) {
  ListenAddress result{.size = sizeof address, .loopback = loopback, .text = std::move(text)};
  std::memcpy(&result.address, &address, sizeof address);
  return result;
}

}  // namespace

Result<ListenAddress, std::string> parse_listen_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::string host{colon == std::string_view::npos ? "" : text.substr(0, colon)};
  const auto port = port_of(colon == std::string_view::npos ? text : text.substr(colon + 1));
  if (!port) return Unexpected{fmt::format("'{}': write ADDRESS:PORT, like 127.0.0.1:9400", text)};
  if (host.empty() || host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(*port);
    const std::string inner = host.substr(1, host.size() - 2);
    if (::inet_pton(AF_INET6, inner.c_str(), &v6.sin6_addr) == 1) {
      const bool own = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
      return made(v6, own, fmt::format("{}:{}", host, *port));
    }
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(*port);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1) {
    return Unexpected{fmt::format(
        "'{}': not a numeric address; write 127.0.0.1, [::1], or the address of an interface",
        host)};
  }
  const bool own = (ntohl(v4.sin_addr.s_addr) >> 24U) == 127;
  return made(v4, own, fmt::format("{}:{}", host, *port));
}

}  // namespace nerve::cli
