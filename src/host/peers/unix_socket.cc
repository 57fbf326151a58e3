#include "host/peers/unix_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "host/peers/own_user.h"
#include "link/system_calls.h"

namespace nerve::host {
namespace {

constexpr std::size_t kMaxMessage = 16 * 1024;
constexpr std::size_t kMaxDescriptors = 64;

struct Address {
  sockaddr_un raw{};
  socklen_t size{};

  static Address abstract(const std::string& name) {
    return Address{std::string(1, '\0') + name};  // the leading zero makes it abstract
  }
  static Address at(const std::string& path) { return Address{path + '\0'}; }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&raw); }

 private:
  explicit Address(const std::string& bytes) {
    raw.sun_family = AF_UNIX;
    const std::size_t length = std::min(bytes.size(), sizeof raw.sun_path);
    std::memcpy(raw.sun_path, bytes.data(), length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  }
};

// Non-blocking: connecting to a process that does not accept, and whose backlog is full, would
// block forever.
Descriptor make_socket() {
  return Descriptor{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

Descriptor bind_to(const Address& address) {
  Descriptor socket = make_socket();
  if (!socket || ::bind(socket.get(), address.get(), address.size) != 0) return {};
  return socket;
}

// A stopped process accepts nothing. When its backlog is full, the connect fails instead of
// waiting.
Descriptor connect_to(const Address& address) {
  Descriptor socket = make_socket();
  if (!socket || ::connect(socket.get(), address.get(), address.size) != 0) return {};
  return socket;
}

}  // namespace

Descriptor hold_name(const std::string& name) { return bind_to(Address::abstract(name)); }

Descriptor hold_private(const PrivateFolder& folder, const std::string& name) {
  const std::string path = folder.path_of(name);
  (void)::unlink(path.c_str());
  return bind_to(Address::at(path));
}

bool listen_to_calls(int socket) { return ::listen(socket, SOMAXCONN) == 0; }

Descriptor call(const std::string& name) {
  const bool ours = name.starts_with(own_prefix());
  if (const auto folder = ours ? PrivateFolder::open() : std::nullopt) {
    Descriptor connected = connect_to(Address::at(folder->path_of(name)));
    if (connected || errno == EAGAIN) return connected;
  }
  return connect_to(Address::abstract(name));
}

Descriptor accept_from(int listener) {
  return Descriptor{::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)};
}

std::optional<pid_t> own_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  if (!is_own_user(peer.uid)) return std::nullopt;
  return peer.pid;
}

bool is_open(int connection) {
  pollfd look{.fd = connection, .events = POLLRDHUP, .revents = 0};
  return link::system::poll(look, 0) == 0;
}

bool send_message(int socket, Bytes bytes, std::span<const int> descriptors) {
  if (descriptors.size() > kMaxDescriptors) return false;
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

std::optional<Message> receive_message(int socket, std::chrono::milliseconds patience) {
  pollfd ready{.fd = socket, .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, static_cast<int>(patience.count())) <= 0) return std::nullopt;

  Message received;
  received.bytes.resize(kMaxMessage);
  iovec part{received.bytes.data(), received.bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); size >= 0 && header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      received.descriptors.emplace_back(fd);
    }
  }
  if (size <= 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return std::nullopt;
  received.bytes.resize(static_cast<std::size_t>(size));
  return received;
}

std::optional<std::vector<std::string>> abstract_names(const std::string& prefix) {
  // The kernel's table shows the leading zero as '@'.
  std::set<std::string> names;
  std::ifstream table{"/proc/net/unix"};
  if (!table) return std::nullopt;
  for (std::string line; std::getline(table, line);) {
    const std::size_t at = line.find(" @" + prefix);
    if (at != std::string::npos) names.insert(line.substr(at + 2 + prefix.size()));
  }
  return std::vector<std::string>{names.begin(), names.end()};
}

}  // namespace nerve::host
