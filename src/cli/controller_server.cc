#include "cli/controller_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "controller/event_text.h"

namespace nerve::cli {
namespace {

std::string peer_text(const sockaddr_storage& from) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (from.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &from, sizeof v4);
    (void)::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return fmt::format("{}:{}", text, ntohs(v4.sin_port));
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &from, sizeof v6);
  (void)::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return fmt::format("[{}]:{}", text, ntohs(v6.sin6_port));
}

}  // namespace

Result<ControllerServer, std::string> ControllerServer::open(const ListenAddress& address,
                                                             const seal::SharedKey& key,
                                                             controller::PlannerSettings settings,
                                                             Listener listener) {
  host::Descriptor descriptor{
      ::socket(address.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  const int on = 1;
  const auto* const where = reinterpret_cast<const sockaddr*>(&address.address);
  if (!descriptor ||
      ::setsockopt(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(descriptor.get(), where, address.size) != 0 ||
      ::listen(descriptor.get(), SOMAXCONN) != 0) {
    return Unexpected{fmt::format("cannot listen at {}: {}", address.text, std::strerror(errno))};
  }
  return ControllerServer{std::move(descriptor), key, std::move(settings), std::move(listener)};
}

std::uint16_t ControllerServer::port() const {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  sockaddr_in v4{};  // in both families the port is at the same place
  std::memcpy(&v4, &bound, sizeof v4);
  return ntohs(v4.sin_port);
}

Time ControllerServer::now() const {
  const auto since = std::chrono::nanoseconds{Clock::now() - start_};
  // On a ring: the product may wrap.
  const std::uint64_t picoseconds = static_cast<std::uint64_t>(since.count()) * 1000;
  return Time{Duration{static_cast<std::int64_t>(picoseconds)}};
}

bool ControllerServer::may_take() const {
  return clients_.size() < kMaxAgents && Clock::now() >= take_again_;
}

std::chrono::milliseconds ControllerServer::add_to(std::vector<pollfd>& waiting) const {
  const bool takes = may_take();
  if (takes) waiting.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
  for (const Client& client : clients_) {
    const auto events = static_cast<short>(POLLIN | (client.to_send.empty() ? 0 : POLLOUT));
    waiting.push_back({.fd = client.connection.get(), .events = events, .revents = 0});
  }
  if (!clients_.empty()) return kTick;
  return takes ? std::chrono::milliseconds{-1} : std::chrono::milliseconds{1000};
}

void ControllerServer::take_clients() {
  while (may_take()) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    host::Descriptor connection{::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from),
                                          &size, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!connection) {
      const bool none = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
      if (!none) take_again_ = Clock::now() + std::chrono::seconds{1};
      return;
    }
    const int on = 1;
    (void)::setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto session = ControllerSession::begin(ControllerSession::Role::kController, key_.bytes());
    if (!session) return;  // open() has loaded libcrypto
    const auto is_stranger = [](const Client& one) { return !one.session.proved(); };
    if (std::ranges::count_if(clients_, is_stranger) >=
        static_cast<std::ptrdiff_t>(kMaxStrangers)) {
      const auto oldest = std::ranges::find_if(clients_, is_stranger);
      close(*oldest, "others wait, and it has not proved that it knows the key");
      clients_.erase(oldest);
    }
    Client client{.id = next_id_++,
                  .connection = std::move(connection),
                  .session = *std::move(session),
                  .address = peer_text(from),
                  .host = {},
                  .to_send = {},
                  .since = Clock::now(),
                  .heard = Clock::now(),
                  .greeted = false};
    client.to_send = client.session.greeting();
    clients_.push_back(std::move(client));
  }
}

std::string ControllerServer::hear(Client& client, const std::string& body) {
  const auto report = controller::read_report(body);
  if (!report) return "its report is refused: " + report.error();
  if (client.host.empty()) {
    client.host = report->host.empty() ? client.address : report->host;
    tell_(fmt::format("agent {} connected from {}", client.host, client.address),
          {{"event", "connected"}, {"host", client.host}, {"address", client.address}});
  }
  client.heard = Clock::now();
  planner_.hear(client.id, *report, now());
  return {};
}

std::string ControllerServer::read_from(Client& client) {
  std::array<char, 64 * 1024> some;
  for (int i = 0; i < 8; ++i) {  // then it is the turn of others
    const ssize_t came = ::recv(client.connection.get(), some.data(), some.size(), 0);
    if (came < 0) {
      if (errno == EAGAIN || errno == EINTR) return {};
      return std::strerror(errno);
    }
    if (came == 0) return client.session.ended();
    const auto bodies = client.session.take({some.data(), static_cast<std::size_t>(came)});
    if (!bodies) return bodies.error();
    if (client.session.established() && !client.greeted) {
      client.greeted = true;
      client.to_send += client.session.wrap(controller::to_text(controller::Orders{}));
    }
    for (const std::string& body : *bodies) {
      if (auto why = hear(client, body); !why.empty()) return why;
    }
    if (!bodies->empty()) send_orders(client);
  }
  return {};
}

void ControllerServer::send_orders(Client& client) {
  const controller::Orders orders = planner_.orders_for(client.id, now());
  if (orders == controller::Orders{}) return;
  const std::string body = controller::to_text(orders);
  if (body.size() <= ControllerSession::kMaxBody) client.to_send += client.session.wrap(body);
}

std::string ControllerServer::write_to(Client& client) {
  if (client.to_send.size() > kMaxWaiting) return "it does not read its orders";
  if (client.to_send.empty()) return {};
  const ssize_t sent = ::send(client.connection.get(), client.to_send.data(), client.to_send.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return errno == EAGAIN || errno == EINTR ? std::string{} : std::strerror(errno);
  client.to_send.erase(0, static_cast<std::size_t>(sent));
  return {};
}

std::string ControllerServer::too_late(const Client& client) const {
  const auto time = Clock::now();
  if (!client.session.proved() && time - client.since > kPatience) {
    return fmt::format("it has not proved for {} s that it knows the key", kPatience.count());
  }
  if (time - client.heard > kSilence) {
    return fmt::format("it has not reported for {} s", kSilence.count());
  }
  return {};
}

void ControllerServer::close(const Client& client, const std::string& why) {
  planner_.forget(client.id);
  if (client.host.empty()) {
    tell_(fmt::format("refused {}: {}", client.address, why),
          {{"event", "refused"}, {"address", client.address}, {"why", why}});
    return;
  }
  tell_(fmt::format("agent {} left: {}", client.host, why),
        {{"event", "left"}, {"host", client.host}, {"address", client.address}, {"why", why}});
}

void ControllerServer::tell_events() {
  for (const controller::PlannerEvent& event : planner_.take_events()) {
    tell_(event.host + ": " + controller::line_of(event), controller::json_of(event));
  }
}

void ControllerServer::serve() {
  take_clients();
  const bool tick = Clock::now() - ticked_ >= kTick;
  if (tick) ticked_ = Clock::now();
  for (auto client = clients_.begin(); client != clients_.end();) {
    std::string why = read_from(*client);
    if (why.empty() && tick && !client->host.empty()) send_orders(*client);
    if (why.empty()) why = write_to(*client);
    if (why.empty()) why = too_late(*client);
    if (why.empty()) {
      ++client;
      continue;
    }
    close(*client, why);
    client = clients_.erase(client);
  }
  tell_events();
}

}  // namespace nerve::cli
