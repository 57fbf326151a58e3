#include "ai/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <thread>

namespace nerve::ai {
namespace {

struct FreeList {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, FreeList>;

Result<AddressList, Error> resolve(const Address& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                                  std::to_string(address.port).c_str(), &hints, &list);
  if (error != 0) {
    return failure(Error::Kind::kUsage, "cannot resolve '" + address.host +
                                            "': " + ::gai_strerror(error) +
                                            "; give an address or a name that this host knows");
  }
  return AddressList{list};
}

Unexpected<Error> system_failure(const std::string& what) {
  return failure(Error::Kind::kSystem, what + ": " + std::strerror(errno));
}

// Waits until the socket is ready; a failure if time is over or the caller interrupts.
Status wait_for(const Descriptor& socket, short events, const Patience& patience) {
  for (;;) {
    pollfd one{socket.get(), events, 0};
    if (socket.calls().poll(&one, 1, patience.slice_ms()) > 0) return Done{};
    if (patience.stop()) return failure(Error::Kind::kInterrupted, "interrupted");
    if (patience.expired()) return failure(Error::Kind::kTimeout, "no answer in time");
  }
}

void do_not_block(const Descriptor& socket) {
  socket.calls().fcntl(socket.get(), F_SETFL, O_NONBLOCK);
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

void Descriptor::close() {
  if (fd_ >= 0) calls_->close(fd_);
  fd_ = -1;
}

Result<Address, Error> parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Address address;
  const auto bad = [&] {
    return failure(Error::Kind::kUsage,
                   "'" + text + "' is not an address; write host:port, as in 10.0.0.1:29500");
  };
  if (colon == std::string::npos) return bad();
  address.host = text.substr(0, colon);
  if (address.host.size() > 1 && address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc{} || stop != end || address.host.empty()) return bad();
  return address;
}

Result<Descriptor, Error> listen_at(const Address& address, const SocketCalls& calls) {
  auto list = resolve(address, AI_PASSIVE);
  if (!list) return passed_on(list);
  const addrinfo* one = list->get();
  Descriptor socket{calls.socket(one->ai_family, calls.type, 0), calls};
  const int on = 1;
  if (!socket.open()) return system_failure(std::string{calls.name} + " socket");
  do_not_block(socket);
  calls.setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (calls.bind(socket.get(), one->ai_addr, one->ai_addrlen) != 0 ||
      calls.listen(socket.get(), 128) != 0) {
    const std::string where = std::string{calls.name} + "://" + address.text();
    if (errno == EADDRINUSE) {
      return failure(Error::Kind::kSystem, "cannot listen at " + where +
                                               ": another program uses this port; choose another "
                                               "one for all ranks");
    }
    return system_failure("cannot listen at " + where);
  }
  return socket;
}

std::uint16_t port_of(const Descriptor& listener) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  listener.calls().getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name), &length);
  return ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&name)->sin6_port
                                          : reinterpret_cast<sockaddr_in*>(&name)->sin_port);
}

std::string local_host_of(const Descriptor& socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  char host[NI_MAXHOST] = "127.0.0.1";
  auto* const into = reinterpret_cast<sockaddr*>(&name);
  if (socket.calls().getsockname(socket.get(), into, &length) == 0) {
    ::getnameinfo(reinterpret_cast<sockaddr*>(&name), length, host, sizeof host, nullptr, 0,
                  NI_NUMERICHOST);
  }
  return host;
}

Result<Descriptor, Error> connect_to(const Address& address, const Patience& patience,
                                     const SocketCalls& calls) {
  auto list = resolve(address, 0);
  if (!list) return passed_on(list);
  const addrinfo* one = list->get();
  for (;;) {
    Descriptor socket{calls.socket(one->ai_family, calls.type, 0), calls};
    if (!socket.open()) return system_failure(std::string{calls.name} + " socket");
    do_not_block(socket);
    int error = 0;
    if (calls.connect(socket.get(), one->ai_addr, one->ai_addrlen) != 0) error = errno;
    if (error == EINPROGRESS) {
      if (Status ready = wait_for(socket, POLLOUT, patience); !ready) return passed_on(ready);
      socklen_t length = sizeof error;
      calls.getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
    if (error == 0) {
      calls.tune(socket.get());
      return socket;
    }
    if (patience.stop()) return failure(Error::Kind::kInterrupted, "interrupted");
    if (patience.expired() || (error != ECONNREFUSED && error != ETIMEDOUT && error != EAGAIN)) {
      return failure(Error::Kind::kTimeout,
                     "cannot connect to " + address.text() + ": " + std::strerror(error));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

Descriptor accept_waiting(const Descriptor& listener) {
  Descriptor socket{listener.calls().accept(listener.get()), listener.calls()};
  if (!socket.open()) return socket;
  do_not_block(socket);
  socket.calls().tune(socket.get());
  return socket;
}

Status send_message(const Descriptor& socket, Bytes message, const Patience& patience) {
  std::vector<std::byte> whole(4 + message.size());
  store_be<4>(whole, 0, message.size());
  if (!message.empty()) std::memcpy(whole.data() + 4, message.data(), message.size());
  std::size_t sent = 0;
  while (sent < whole.size()) {
    const ssize_t count =
        socket.calls().send(socket.get(), whole.data() + sent, whole.size() - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (!would_block(errno)) {
      return system_failure("the connection was closed");
    } else if (Status ready = wait_for(socket, POLLOUT, patience); !ready) {
      return ready;
    }
  }
  return Done{};
}

PartialMessage::State PartialMessage::read_from(const Descriptor& socket) {
  for (;;) {
    const bool in_length = length_got_ < 4;
    std::byte* to = in_length ? length_ + length_got_ : bytes_.data() + got_;
    const std::size_t wanted = in_length ? 4 - length_got_ : bytes_.size() - got_;
    if (wanted == 0) return State::kComplete;
    const ssize_t count = socket.calls().recv(socket.get(), to, wanted, 0);
    if (count == 0) return State::kClosed;
    if (count < 0) return would_block(errno) ? State::kMore : State::kClosed;
    if (!in_length) {
      got_ += static_cast<std::size_t>(count);
      continue;
    }
    length_got_ += static_cast<std::size_t>(count);
    if (length_got_ < 4) continue;
    const std::size_t length = load_be<4>(Bytes{length_, 4}, 0);
    if (length > kLongestMessage) return State::kTooLong;
    bytes_.resize(length);
  }
}

Result<std::vector<std::byte>, Error> receive_message(const Descriptor& socket,
                                                      const Patience& patience) {
  PartialMessage message;
  for (;;) {
    switch (message.read_from(socket)) {
      case PartialMessage::State::kComplete:
        return message.bytes();
      case PartialMessage::State::kClosed:
        return failure(Error::Kind::kPeerDied, "the connection was closed");
      case PartialMessage::State::kTooLong:
        return failure(Error::Kind::kProtocol,
                       "a message longer than " + std::to_string(kLongestMessage) + " bytes");
      case PartialMessage::State::kMore:
        if (Status ready = wait_for(socket, POLLIN, patience); !ready) {
          return passed_on(ready);
        }
    }
  }
}

}  // namespace nerve::ai
