#include "host/network/passed_sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "link/udp/port_group.h"
#include "link/udp/udp_socket.h"

namespace nerve::host {
namespace {

constexpr int kFirstPassed = 3;  // SD_LISTEN_FDS_START
constexpr int kMostPassed = 1 << 16;

int number_in(const char* variable) {
  const char* const text = ::secure_getenv(variable);
  if (text == nullptr) return 0;
  const std::string_view digits{text};
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() ? number : 0;
}

}  // namespace

std::vector<int> passed_sockets(std::uint16_t port) {
  std::vector<int> found;
  if (number_in("LISTEN_PID") != ::getpid()) return found;
  const int count = number_in("LISTEN_FDS");
  if (count > kMostPassed) return found;
  for (int fd = kFirstPassed; fd < kFirstPassed + count; ++fd) {
    const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, kFirstPassed + count);
    if (copy < 0) break;  // not as many as announced
    link::UdpSocket socket{copy};
    const bool is_udp = socket.get(SOL_SOCKET, SO_PROTOCOL, -1) == IPPROTO_UDP;
    if (!is_udp || socket.bound_port() != port) continue;
    if (found.size() > link::PortGroup::kMaxSockets) break;
    found.push_back(socket.release());
  }
  return found;
}

}  // namespace nerve::host
