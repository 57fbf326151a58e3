#include "tests/bad_days/worlds/control.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "tests/bad_days/worlds/verdict.h"

namespace worlds {

void Control::send(const Message& message) {
  if (::send(fd_, &message, sizeof message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof message)) {
    peer_gave_up();
  }
}

std::optional<Message> Control::poll() {
  Message message;
  const ssize_t got = ::recv(fd_, &message, sizeof message, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (got != static_cast<ssize_t>(sizeof message)) peer_gave_up();
  return message;
}

Message Control::wait(Word word) {
  while (true) {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    (void)::poll(&ready, 1, -1);
    const auto message = poll();
    if (!message) continue;
    if (message->word != word) violation("the two sides of the test program do not agree");
    return *message;
  }
}

}  // namespace worlds
