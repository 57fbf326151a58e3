// Where a server of ours listens.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nerve::cli {

struct ListenAddress {
  sockaddr_storage address{};
  socklen_t size{};
  bool loopback{};
  std::string text;  // 127.0.0.1:9400

  [[nodiscard]] std::string_view host() const {  // 127.0.0.1
    return std::string_view{text}.substr(0, text.rfind(':'));
  }
};

// "9400", ":9400", "localhost:9400", "127.0.0.1:9400", "[::1]:9400", "0.0.0.0:9400". Without an
// address it is 127.0.0.1: other machines can connect only where a numeric address that is not a
// loopback one is given. Names are not looked up. The error is a sentence.
[[nodiscard]] Result<ListenAddress, std::string> parse_listen_address(std::string_view text);

}  // namespace nerve::cli
