// Why a socket could not be had: errno, and a sentence that says what, with which value, and what
// to do.
#pragma once

#include <string>

namespace nerve::link {

struct SocketError {
  int code{};  // errno
  std::string text;
};

// "udp port 4791: bind: Address already in use; <mend>", from `subject`, `call` and the code.
[[nodiscard]] SocketError socket_error(const std::string& subject, const std::string& call,
                                       int code, const std::string& mend = {});

}  // namespace nerve::link
