// A socket error: errno, and a sentence that says what failed, with which value, and what to do.
#pragma once

#include <string>

namespace nerve::link {

struct SocketError {
  int code{};  // errno
  std::string text;
};

// "udp port 4791: bind: Address already in use; <advice>", from `subject`, `call` and the code.
[[nodiscard]] SocketError socket_error(const std::string& subject, const std::string& call,
                                       int code, const std::string& advice = {});

}  // namespace nerve::link
