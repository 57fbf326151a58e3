// nerve-gpu-copier: makes the copies from and to GPU memory for all programs of a user
// (host/gpu/copier_client.h). The first of them starts it, with a listening socket; it ends when
// the last of them has disconnected.
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "copier/clients.h"
#include "host/gpu/copier_layout.h"

namespace {

using namespace nerve;

// A program may disconnect and come again.
constexpr int kStayFor = 1000;  // ms

int serve(const cuda::Driver& driver, int listener) {
  std::uint64_t identity = 0;
  while (identity == 0) (void)!::getrandom(&identity, sizeof identity, 0);
  copier::Imports imports{driver};
  copier::Clients clients{identity};
  pollfd look{.fd = listener, .events = POLLIN, .revents = 0};
  for (;;) {
    const int ready = ::poll(&look, 1, kStayFor);
    if (ready == 0 && clients.all().empty()) return 0;
    if (ready <= 0) continue;
    link::Descriptor socket = host::accept_from(listener);
    if (!socket || !host::own_peer(socket.get())) continue;
    auto client = std::make_shared<copier::Client>(driver, imports, clients, std::move(socket));
    clients.add(client);
    std::thread{[client, &clients] {
      client->serve();
      clients.remove(*client);
    }}.detach();
  }
}

}  // namespace

int main(int count, char** /*arguments*/) {
  int listening = 0;
  socklen_t size = sizeof listening;
  const int listener = host::copier::kListener;
  if (count > 1 || ::getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 ||
      listening == 0) {
    std::fputs(
        "nerve-gpu-copier copies GPU memory for programs that use it over RDMA.\n"
        "Nerve starts it when a program registers such memory; see docs/gpu-memory.md.\n",
        stderr);
    return 2;
  }
  // Not a child of the program that started it, and not in its terminal's group.
  if (::fork() != 0) ::_exit(0);
  (void)::setsid();
  if (::chdir("/") != 0) return 1;
  (void)std::signal(SIGPIPE, SIG_IGN);
  const cuda::Driver* const driver = cuda::load_driver();
  if (driver == nullptr || driver->sharing == nullptr) return 1;
  if (driver->sharing->init(0) != cuda::Status::kSuccess) return 1;
  return serve(*driver, listener);
}
