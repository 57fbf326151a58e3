// The limits of the machine without RDMA: `baseline CORE CORE udp|place|memcpy|tcp ITERATIONS`
// prints one line, `value` and a number: half a round trip in microseconds (the median, as in
// perftest and UCX), or GB/s.
//
//   udp     8 bytes over the kernel's UDP on loopback and back, both ends spinning
//   place   8 bytes by process_vm_writev into the other process, which spins on them, and back
//   memcpy  1 MB from one buffer to another, on one core
//   tcp     a connection to a process that accepts it; all are opened before the first is closed
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "bench/two_processes.h"

namespace nerve::bench {
namespace {

struct Task {
  int first_core{};
  int second_core{};
  std::size_t iterations{};
};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  ::_exit(1);
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The time of each call, with one clock read per call, as in perftest.
template <class Call>
double median_of_calls(std::size_t iterations, Call call) {
  for (std::size_t i = 0; i < iterations / 10; ++i) call();
  std::vector<double> times(iterations);
  double last = seconds();
  for (double& time : times) {
    call();
    const double now = seconds();
    time = now - last;
    last = now;
  }
  return median(times);
}

// A loopback socket with a port chosen by the kernel.
struct Endpoint {
  Endpoint() {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) != 0) fail("bind");
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("name");
  }
  void connect(const Endpoint& other) const {
    const auto* const to = reinterpret_cast<const sockaddr*>(&other.address);
    if (::connect(socket, to, sizeof other.address) != 0) fail("connect");
  }
  void send(std::uint64_t n) const {
    if (::send(socket, &n, sizeof n, 0) != sizeof n) fail("send");
  }
  [[nodiscard]] std::uint64_t receive() const {
    std::uint64_t n = 0;
    while (::recv(socket, &n, sizeof n, MSG_DONTWAIT) != sizeof n) {
    }
    return n;
  }
  int socket{::socket(AF_INET, SOCK_DGRAM, 0)};
  sockaddr_in address{};
};

double udp_microseconds(const Task& task) {
  const Endpoint here;
  const Endpoint there;
  here.connect(there);
  there.connect(here);
  const Peer peer{[&] {
    pin(task.second_core);
    for (;;) there.send(there.receive());
  }};
  pin(task.first_core);
  return median_of_calls(task.iterations,
                         [&, n = std::uint64_t{}]() mutable {
                           here.send(++n);
                           if (here.receive() != n) fail("a datagram was lost or duplicated");
                         }) /
         2 * 1e6;
}

// Private memory: after the fork each process has its own word at the same address.
alignas(64) std::atomic<std::uint64_t> word;

void put(pid_t to, std::uint64_t n) {
  const iovec local{.iov_base = &n, .iov_len = sizeof n};
  const iovec remote{.iov_base = &word, .iov_len = sizeof n};
  if (::process_vm_writev(to, &local, 1, &remote, 1, 0) != sizeof n) fail("process_vm_writev");
}

void wait_for(std::uint64_t n) {
  while (word.load(std::memory_order_acquire) != n) {
  }
}

double place_microseconds(const Task& task) {
  (void)::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // for Yama's ptrace_scope 1
  const Peer peer{[&, parent = ::getpid()] {
    pin(task.second_core);
    for (std::uint64_t n = 1;; ++n) {
      wait_for(n);
      put(parent, n);
    }
  }};
  pin(task.first_core);
  return median_of_calls(task.iterations,
                         [&, n = std::uint64_t{}]() mutable {
                           put(peer.pid(), ++n);
                           wait_for(n);
                         }) /
         2 * 1e6;
}

double copy_gigabytes(const Task& task) {
  constexpr std::size_t kSize = std::size_t{1} << 20U;
  pin(task.first_core);
  const std::vector<std::byte> from(kSize, std::byte{1});
  std::vector<std::byte> to(kSize);
  const double each = median_of_calls(task.iterations, [&] {
    std::memcpy(to.data(), from.data(), kSize);
    asm volatile("" : : "r"(to.data()) : "memory");
  });
  return static_cast<double>(kSize) / each * 1e-9;
}

// Per connection: open, accept, and close at both ends.
double connect_microseconds(const Task& task) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, at, size) != 0 || ::listen(listener, SOMAXCONN) != 0) fail("listen");
  if (::getsockname(listener, at, &size) != 0) fail("name");
  const Peer peer{[&] {
    pin(task.second_core);
    std::vector<int> sockets(task.iterations);
    for (int& socket : sockets) {
      socket = ::accept(listener, nullptr, nullptr);
      if (socket < 0) fail("accept");
    }
    if (::send(sockets.back(), "a", 1, 0) != 1) fail("send");
    char byte{};
    for (const int socket : sockets) {
      if (::recv(socket, &byte, 1, 0) != 0) fail("expected the end of a connection");
      ::close(socket);
    }
  }};
  pin(task.first_core);
  std::vector<int> sockets(task.iterations);
  const double begin = seconds();
  for (int& socket : sockets) {
    socket = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(socket, at, size) != 0) fail("connect");
  }
  char byte{};
  if (::recv(sockets.back(), &byte, 1, 0) != 1) fail("cannot read from the last connection");
  for (const int socket : sockets) ::close(socket);
  (void)::waitpid(peer.pid(), nullptr, 0);
  return (seconds() - begin) / static_cast<double>(task.iterations) * 1e6;
}

struct Work {
  std::string_view name;
  double (*run)(const Task&);
};
constexpr std::array kWorks{Work{"udp", udp_microseconds}, Work{"place", place_microseconds},
                            Work{"memcpy", copy_gigabytes}, Work{"tcp", connect_microseconds}};

}  // namespace
}  // namespace nerve::bench

int main(int argc, char** argv) {
  using namespace nerve::bench;
  for (const Work& work : kWorks) {
    if (argc != 5 || work.name != argv[3]) continue;
    const int iterations = std::atoi(argv[4]);
    if (iterations < 1) break;
    const Task task{.first_core = std::atoi(argv[1]),
                    .second_core = std::atoi(argv[2]),
                    .iterations = static_cast<std::size_t>(iterations)};
    std::printf("value %.4f\n", work.run(task));
    return 0;
  }
  std::fprintf(stderr, "usage: nerve_live_baseline CORE CORE udp|place|memcpy|tcp ITERATIONS\n");
  return 2;
}
