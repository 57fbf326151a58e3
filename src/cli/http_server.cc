#include "cli/http_server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace nerve::cli {

Result<HttpServer, std::string> HttpServer::open(const ListenAddress& address, HttpRoutes routes) {
  const auto failed = [&] {
    return Unexpected{fmt::format("cannot listen at {}: {}", address.text, std::strerror(errno))};
  };
  host::Descriptor listener{
      ::socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  const int on = 1;
  if (!listener || ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.address), address.size) !=
          0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    return failed();
  }
  return HttpServer{std::move(listener), std::move(routes)};
}

std::uint16_t HttpServer::port() const {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  // In both families the port is at the same place.
  sockaddr_in v4{};
  std::memcpy(&v4, &bound, sizeof v4);
  return ntohs(v4.sin_port);
}

std::optional<HttpServer::Clock::time_point> HttpServer::add_to(
    std::vector<pollfd>& waiting) const {
  if (clients_.size() < kMaxClients) {
    waiting.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
  }
  std::optional<Clock::time_point> until;
  for (const Client& client : clients_) {
    const auto events = static_cast<short>(client.answered ? POLLOUT : POLLIN);
    waiting.push_back({.fd = client.connection.get(), .events = events, .revents = 0});
    if (!until || client.give_up < *until) until = client.give_up;
  }
  return until;
}

void HttpServer::take_clients() {
  while (clients_.size() < kMaxClients) {
    host::Descriptor connection{
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!connection) return;
    Client client;
    client.connection = std::move(connection);
    client.give_up = Clock::now() + kPatience;
    clients_.push_back(std::move(client));
  }
}

bool HttpServer::go_on(Client& client) const {
  if (Clock::now() >= client.give_up) return false;
  if (!client.answered) {
    std::array<char, 2048> some{};
    const ssize_t came = ::recv(client.connection.get(), some.data(), some.size(), 0);
    if (came < 0) return errno == EAGAIN || errno == EINTR;
    if (came == 0) return false;
    client.received.append(some.data(), static_cast<std::size_t>(came));
    auto answer = answer_to(client.received, routes_);
    if (!answer) return true;
    client.answer = *std::move(answer);
    client.answered = true;
    client.give_up = Clock::now() + kPatience;
  }
  const ssize_t sent = ::send(client.connection.get(), client.answer.data(), client.answer.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return errno == EAGAIN || errno == EINTR;
  client.answer.erase(0, static_cast<std::size_t>(sent));
  if (client.answer.empty()) (void)::shutdown(client.connection.get(), SHUT_WR);
  return !client.answer.empty();
}

void HttpServer::serve() {
  take_clients();
  clients_.remove_if([&](Client& client) { return !go_on(client); });
}

void serve_until(const Signals& signals, HttpServer& server, host::StatisticsKeeper* keeper) {
  for (;;) {
    std::vector<pollfd> waiting{{.fd = signals.descriptor(), .events = POLLIN, .revents = 0}};
    if (keeper != nullptr) {
      waiting.push_back({.fd = keeper->listener(), .events = POLLIN, .revents = 0});
    }
    int patience = -1;
    if (const auto until = server.add_to(waiting)) {
      using std::chrono::milliseconds;
      const auto left = std::chrono::ceil<milliseconds>(*until - HttpServer::Clock::now());
      patience = static_cast<int>(std::max<milliseconds::rep>(left.count(), 0));
    }
    (void)::poll(waiting.data(), waiting.size(), patience);
    if (signals.take()) return;
    if (keeper != nullptr) keeper->answer();
    server.serve();
  }
}

}  // namespace nerve::cli
