#include "cli/agent_link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace nerve::cli {

pollfd AgentLink::waits_for() const {
  if (!socket_) return {.fd = -1, .events = 0, .revents = 0};
  const bool writes = connecting_ || !unsent_.empty();
  return {.fd = socket_.get(),
          .events = static_cast<short>(POLLIN | (writes ? POLLOUT : 0)),
          .revents = 0};
}

AgentLink::Moment AgentLink::next_deadline() const {
  if (!socket_) return retry_at_;
  const bool waits = connecting_ || !unsent_.empty() || !counted_;
  return waits ? give_up_ : Moment::max();
}

bool AgentLink::ready() const {
  return session_ && session_->proved() && unsent_.size() < kMostUnsent;
}

void AgentLink::fail(std::string why, Moment now) {
  socket_ = {};
  session_.reset();
  unsent_.clear();
  connecting_ = false;
  retry_at_ = now + pause_;
  pause_ = std::min(pause_ * 2, kLongestPause);
  if (why == problem_) return;
  problem_ = std::move(why);
  problem_is_new_ = true;
}

std::optional<std::string> AgentLink::take_problem() {
  if (!std::exchange(problem_is_new_, false)) return std::nullopt;
  return problem_;
}

void AgentLink::connect(Moment now) {
  const SocketAddress& to = addresses_[next_address_++ % addresses_.size()];
  socket_ = host::Descriptor{
      ::socket(to.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP)};
  if (!socket_) return fail(std::strerror(errno), now);
  constexpr int kOn = 1;
  const auto patience = static_cast<unsigned>(
      std::chrono::duration_cast<std::chrono::milliseconds>(kPatience).count());
  (void)::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  (void)::setsockopt(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
  const auto* const address = reinterpret_cast<const sockaddr*>(&to.address);
  if (::connect(socket_.get(), address, to.size) != 0 && errno != EINPROGRESS) {
    return fail(std::strerror(errno), now);
  }
  auto session = ControllerSession::begin(ControllerSession::Role::kAgent, key_.bytes());
  if (!session) return fail(session.error(), now);
  session_ = *std::move(session);
  unsent_ = session_->greeting();
  connecting_ = true;
  counted_ = false;
  give_up_ = now + kPatience;
}

void AgentLink::send(std::string_view body, Moment now) {
  if (!ready()) return;
  if (unsent_.empty()) give_up_ = now + kPatience;
  unsent_ += session_->wrap(body);
  flush(now);
}

void AgentLink::flush(Moment now) {
  while (socket_ && !unsent_.empty()) {
    const ssize_t sent =
        ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) fail(std::strerror(errno), now);
      return;
    }
    unsent_.erase(0, static_cast<std::size_t>(sent));
    give_up_ = now + kPatience;
  }
}

void AgentLink::take_in(std::vector<std::string>& bodies, Moment now) {
  std::array<char, 64 * 1024> room;
  while (socket_) {
    const ssize_t size = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (size < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) fail(std::strerror(errno), now);
      return;
    }
    if (size == 0) return fail(session_->ended(), now);
    auto came = session_->take({room.data(), static_cast<std::size_t>(size)});
    if (!came) return fail(came.error(), now);
    std::ranges::move(*came, std::back_inserter(bodies));
    if (!session_->proved() || std::exchange(counted_, true)) continue;
    ++sessions_;
    pause_ = kFirstPause;
    problem_.clear();
  }
}

std::vector<std::string> AgentLink::advance(Moment now) {
  std::vector<std::string> bodies;
  if (!socket_ && now >= retry_at_) connect(now);
  if (connecting_) {
    pollfd look{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&look, 1, 0) == 1) {
      int error = 0;
      socklen_t size = sizeof error;
      (void)::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) {
        fail(std::strerror(error), now);
        return bodies;
      }
      connecting_ = false;
    }
  }
  if (socket_ && !connecting_) {
    flush(now);
    take_in(bodies, now);
  }
  if (socket_ && now >= next_deadline()) fail("it does not answer", now);
  return bodies;
}

}  // namespace nerve::cli
