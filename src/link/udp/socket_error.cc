#include "link/udp/socket_error.h"

#include <system_error>

namespace nerve::link {

SocketError socket_error(const std::string& subject, const std::string& call, int code,
                         const std::string& advice) {
  std::string text = subject + ": " + call + ": " + std::system_category().message(code);
  if (!advice.empty()) text += "; " + advice;
  return {.code = code, .text = std::move(text)};
}

}  // namespace nerve::link
