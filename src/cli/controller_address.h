// Where the controller of paths listens: HOST:PORT.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nerve::cli {

struct SocketAddress {
  sockaddr_storage address{};
  socklen_t size{};
};

// All addresses of "host:4790", "10.0.0.1:4790" or "[fd00::1]:4790"; at least one. Looks the name
// up. The error is a sentence.
[[nodiscard]] Result<std::vector<SocketAddress>, std::string> controller_addresses(
    std::string_view text);

}  // namespace nerve::cli
