#include "controller/address.h"

#include <arpa/inet.h>

namespace nerve::controller {

std::optional<wire::Gid> parse_address(const std::string& text) {
  wire::Gid gid;
  if (::inet_pton(AF_INET6, text.c_str(), gid.bytes.data()) == 1) return gid;
  std::uint8_t v4[4];
  if (::inet_pton(AF_INET, text.c_str(), v4) != 1) return std::nullopt;
  return wire::Gid::ipv4(v4[0], v4[1], v4[2], v4[3]);
}

}  // namespace nerve::controller
