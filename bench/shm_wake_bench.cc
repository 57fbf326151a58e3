// How to reach a process whose threads are busy or asleep: let the kernel write into its memory, or
// wake one of its threads. Between two processes on two cores.
//
//   nerve_shm_wake_bench [WORD]    only the lines whose name contains WORD
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include <cstring>
#include <string_view>
#include <thread>

#include "bench/two_processes.h"
#include "link/shm/doorbell.h"
#include "link/shm/in_use.h"
#include "link/shm/placement.h"
#include "link/shm/rights_table.h"

namespace nerve::bench {
namespace {

using namespace link::shm;

std::string_view wanted;
bool selected(std::string_view what) { return what.find(wanted) != std::string_view::npos; }

template <class T>
Bytes bytes_of(const T& value) {
  return std::as_bytes(std::span{&value, 1});
}

// Private memory: after the fork each process has its own word at the same address.
std::atomic<std::uint64_t> word;

void wait_for(std::uint64_t n) {
  while (word.load(std::memory_order_acquire) != n) {
  }
}

void placement_latency(bool with_rights) {
  const std::string what = std::string{"placement, 8 bytes"} + (with_rights ? ", checked" : "");
  if (!selected(what)) return;
  SharedMemory memory{kRightsTableSize + 4096};
  RightsPublisher table{memory.bytes.first(kRightsTableSize)};
  const auto address = reinterpret_cast<std::uint64_t>(&word);
  for (std::uint32_t n = 1; n < 1000; ++n) {
    (void)table.publish(
        RKey{n},
        {.iova = address, .length = 8, .address = address, .rights = Rights::kWrite, .pd = 1});
    (void)table.publish(Qpn{n}, {.peer = Qpn{n}, .rights = Rights::kWrite, .pd = 1});
  }
  const auto view = *RightsView::open(memory.bytes);
  const PlaceRequest request{.target = Qpn{500},
                             .requester = Qpn{500},
                             .key = RKey{500},
                             .iova = address,
                             .length = 8,
                             .need = Rights::kWrite};
  const auto send = [&](pid_t to, std::uint64_t n, std::size_t in_use) {
    if (!with_rights) {
      CHECK(place(to, address, bytes_of(n)) == Placed::kDone);
      return;
    }
    const Placing placing{memory.as<std::atomic<std::uint64_t>>(kRightsTableSize + in_use)};
    CHECK(place(to, *view.resolve(request), bytes_of(n)) == Placed::kDone);
  };
  word.store(0);
  const Peer peer{[&, parent = ::getpid()] {
    for (std::uint64_t n = 1;; ++n) {
      wait_for(n);
      send(parent, n, 0);
    }
  }};
  std::uint64_t n = 0;
  latency_line(what, seconds_each(30, 2000, [&] {
                 for (int i = 0; i < 2000; ++i) {
                   send(peer.pid(), ++n, 256);
                   wait_for(n);
                 }
               }));
}

void placement_bandwidth(std::size_t size) {
  const std::string what = "placement, " + std::to_string(size >> 10U) + " KB one way";
  if (!selected(what)) return;
  std::vector<std::byte> from(size, std::byte{1});
  std::vector<std::byte> to(size, std::byte{2});
  const Peer peer{[] {
    for (;;) ::pause();
  }};
  ::usleep(1000);
  const auto address = reinterpret_cast<std::uint64_t>(to.data());
  rate_line(what,
            seconds_each(30, 100,
                         [&] {
                           for (int i = 0; i < 100; ++i)
                             CHECK(place(peer.pid(), address, from) == Placed::kDone);
                         }),
            static_cast<double>(size) * 1e-9, "GB/s");
}

struct Signal {
  alignas(64) std::atomic<std::uint32_t> bell;
  alignas(64) std::atomic<std::uint32_t> answer;
};

long futex(std::atomic<std::uint32_t>& at, int operation, std::uint32_t value) {
  return ::syscall(SYS_futex, &at, operation, value, nullptr, nullptr, 0);
}

enum class Way : std::uint8_t { kEventfd, kFutex };

// From the waker's call to the response of the woken thread, through a cache line.
void wake(Way way, bool busy) {
  const std::string what = std::string{"wake by "} + (way == Way::kEventfd ? "eventfd" : "futex") +
                           (busy ? ", its core spins in another thread" : ", its core idle");
  if (!selected(what)) return;
  SharedMemory memory{4096};
  auto& signal = memory.as<Signal>();
  const int fd = ::eventfd(0, 0);
  CHECK(fd >= 0);
  const Peer peer{[&] {
    if (busy) {
      std::thread{[] {
        for (;;) asm volatile("");
      }}.detach();
    }
    for (std::uint32_t n = 0;; ++n) {
      if (way == Way::kEventfd) {
        std::uint64_t count = 0;
        CHECK(::read(fd, &count, sizeof count) == sizeof count);
      } else {
        while (signal.bell.load() == n) futex(signal.bell, FUTEX_WAIT, n);
      }
      signal.answer.store(n + 1, std::memory_order_release);
    }
  }};
  ::usleep(20'000);
  std::vector<double> samples;
  for (std::uint32_t n = 1; n <= 2000; ++n) {
    const double pause = seconds() + 50e-6;  // it must fall asleep first
    while (seconds() < pause) {
    }
    const double begin = seconds();
    if (way == Way::kEventfd) {
      const std::uint64_t one = 1;
      CHECK(::write(fd, &one, sizeof one) == sizeof one);
    } else {
      signal.bell.store(n);
      futex(signal.bell, FUTEX_WAKE, 1);
    }
    while (signal.answer.load(std::memory_order_acquire) != n) {
    }
    samples.push_back(seconds() - begin);
  }
  std::sort(samples.begin(), samples.end());
  line(what, samples.front() * 1e6, samples[samples.size() / 2] * 1e6, "us, wake to answer");
  ::close(fd);
}

// What a consumer pays before it sleeps, so that its producers need no barrier.
void fence() {
  const std::string what = "fence_all, the other core runs a process that joined";
  if (!selected(what)) return;
  if (!join_fences()) return;
  SharedMemory memory{4096};
  auto& beat = memory.as<std::atomic<std::uint64_t>>();
  const Peer peer{[&] {
    CHECK(join_fences());
    for (;;) beat.fetch_add(1);
  }};
  std::vector<double> samples;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t before = beat.load();
    while (beat.load() == before) {  // it is running now
    }
    const double begin = seconds();
    CHECK(fence_all());
    samples.push_back(seconds() - begin);
  }
  std::sort(samples.begin(), samples.end());
  line(what, samples.front() * 1e6, samples[samples.size() / 2] * 1e6, "us");
}

void run_all() {
  std::printf("%-58s %9s %9s\n", "", "best", "median");
  placement_latency(false);
  placement_latency(true);
  for (const std::size_t size :
       {std::size_t{4} << 10U, std::size_t{64} << 10U, std::size_t{1} << 20U}) {
    placement_bandwidth(size);
  }
  for (const Way way : {Way::kEventfd, Way::kFutex}) {
    for (const bool busy : {false, true}) wake(way, busy);
  }
  fence();
}

}  // namespace
}  // namespace nerve::bench

int main(int argc, char** argv) {
  if (argc > 1) nerve::bench::wanted = argv[1];
  nerve::bench::run_all();
  return 0;
}
