#include "cli/controller_address.h"

#include <fmt/format.h>
#include <netdb.h>

#include <charconv>
#include <cstring>
#include <memory>

namespace nerve::cli {
namespace {

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port != 0;
}

}  // namespace

Result<std::vector<SocketAddress>, std::string> controller_addresses(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::string port{colon == std::string_view::npos ? "" : text.substr(colon + 1)};
  std::string host{text.substr(0, std::min(colon, text.size()))};
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || !is_port(port)) {
    return Unexpected{fmt::format("'{}': write HOST:PORT, like 10.0.0.1:4790", text)};
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return Unexpected{fmt::format("'{}': {}", host, ::gai_strerror(error))};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned{found, ::freeaddrinfo};
  std::vector<SocketAddress> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.address, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
  }
  if (addresses.empty()) return Unexpected{fmt::format("'{}': it has no address", host)};
  return addresses;
}

}  // namespace nerve::cli
