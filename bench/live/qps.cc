// What many connections cost: `qps QPS DEPTH SECONDS ACTIVE...` connects two processes by this
// many RC QPs, and prints what each takes: memory, time to create, connect and destroy, and CPU
// time while all are idle. Then it writes 8 bytes on ACTIVE of them in turn, for this many seconds
// for each number, with 64 requests outstanding.
//
// A shard has 16 384 QP numbers, so QPs use the CQs of as many shards as they need.
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <cstdlib>
#include <string>

#include "bench/live/rc.h"
#include "bench/two_processes.h"

namespace nerve::bench {
namespace {

constexpr std::size_t kQpsPerCq = 12'500;
constexpr std::size_t kOutstanding = 64;
constexpr double kPatience = 600;  // seconds, for all first messages

struct Task {
  std::size_t qps{};
  std::uint32_t depth{};
  double seconds{};
  std::vector<std::size_t> active;
  int channel{};
};

// What the two processes exchange.
struct Card {
  ibv_gid gid{};
  RemoteMemory memory{};
};

// What a process can name in /proc/self/status: anonymous memory, without that shared with others.
double resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) fail("/proc/self/status");
  std::array<char, 256> text{};
  double kilobytes = 0;
  while (std::fgets(text.data(), text.size(), file) != nullptr) {
    if (std::string{text.data()}.rfind("RssAnon:", 0) == 0) kilobytes = std::atof(text.data() + 8);
  }
  (void)std::fclose(file);
  return kilobytes * 1024;
}

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Long messages need several calls on a socket.
void send_long(int fd, const void* from, std::size_t size) {
  constexpr std::size_t kPart = 4096;
  const char* const bytes = static_cast<const char*>(from);
  for (std::size_t at = 0; at < size; at += kPart) {
    send_all(fd, bytes + at, std::min(kPart, size - at));
  }
}

class Side {
 public:
  explicit Side(const Task& task) : task_{task} {
    pd_ = ibv_alloc_pd(context_);
    if (pd_ == nullptr) fail("ibv_alloc_pd");
    mr_ = ibv_reg_mr(pd_, memory_.data(), sizeof memory_,
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr_ == nullptr) fail("ibv_reg_mr");
    const std::size_t cqs = (task.qps + kQpsPerCq - 1) / kQpsPerCq;
    for (std::size_t i = 0; i < cqs; ++i) cqs_.push_back(make_cq(context_, 4096));
  }

  void create() {
    const double before = resident_bytes();
    const double begin = cpu_seconds();
    for (std::size_t i = 0; i < task_.qps; ++i) {
      ibv_cq* const cq = cqs_[i % cqs_.size()];
      qps_.push_back(make_rc(pd_, {.send_cq = cq, .recv_cq = cq, .depth = task_.depth}));
    }
    report("create", (cpu_seconds() - begin) / count() * 1e6, "us of CPU for each QP");
    report("memory", (resident_bytes() - before) / count(), "bytes for each QP, created");
  }

  void connect() {
    const Card own{.gid = gid_of(context_),
                   .memory = {reinterpret_cast<std::uint64_t>(memory_.data()) + 8, mr_->rkey}};
    std::vector<std::uint32_t> numbers;
    for (const ibv_qp* qp : qps_) numbers.push_back(qp->qp_num);
    exchange(own, numbers);
    const double before = resident_bytes();
    const double begin = cpu_seconds();
    for (std::size_t i = 0; i < qps_.size(); ++i) connect_rc(qps_[i], other_.gid, numbers[i]);
    report("connect", (cpu_seconds() - begin) / count() * 1e6, "us of CPU for each QP, to RTS");
    meet(task_.channel);
    const double now = seconds();
    (void)write_in_turn(qps_.size(), qps_.size(), kPatience);
    report("first", (seconds() - now) / count() * 1e6, "us for the first message on each");
    report("used", (resident_bytes() - before) / count(), "bytes more for each QP, once used");
    meet(task_.channel);
  }

  void rest() const {
    ::sleep(1);  // for what follows the last message
    const double begin = seconds();
    const double used = cpu_seconds();
    ::usleep(static_cast<useconds_t>(task_.seconds * 1e6));
    report("idle", (cpu_seconds() - used) / (seconds() - begin) * 100, "% of a core, all idle");
    meet(task_.channel);
  }

  // The first process writes; the other one only serves.
  void work() {
    for (const std::size_t active : task_.active) {
      if (task_.channel == first_) {
        (void)write_in_turn(active, active, kPatience);  // each of them has been used lately
        const double begin = seconds();
        const std::size_t done = write_in_turn(active, SIZE_MAX, task_.seconds);
        report("active " + std::to_string(active),
               static_cast<double>(done) / (seconds() - begin) * 1e-6, "M WRITEs/s of 8 bytes");
      }
      meet_later();
    }
  }

  void destroy() {
    const double begin = cpu_seconds();
    for (ibv_qp* qp : qps_) {
      if (ibv_destroy_qp(qp) != 0) fail("ibv_destroy_qp");
    }
    report("destroy", (cpu_seconds() - begin) / count() * 1e6, "us of CPU for each QP");
  }

  void is_first(int channel) { first_ = channel; }

 private:
  [[nodiscard]] double count() const { return static_cast<double>(task_.qps); }
  void report(const std::string& what, double value, const char* unit) const {
    if (task_.channel != first_) return;
    std::printf("%-14s %12.3f %s\n", what.c_str(), value, unit);
    (void)std::fflush(stdout);
  }
  // As meet(), for a process that waits longer than its peer.
  void meet_later() const { meet(task_.channel); }

  void exchange(const Card& own, std::vector<std::uint32_t>& numbers) {
    const std::size_t size = numbers.size() * sizeof numbers[0];
    // One after the other: what both send at once may not fit the socket.
    std::vector<std::uint32_t> theirs(numbers.size());
    if (task_.channel == first_) send_long(task_.channel, numbers.data(), size);
    receive_all(task_.channel, theirs.data(), size);
    if (task_.channel != first_) send_long(task_.channel, numbers.data(), size);
    send_all(task_.channel, &own, sizeof own);
    receive_all(task_.channel, &other_, sizeof other_);
    numbers = theirs;
  }

  // On the first `active` QPs, until so many are done or time is over. Returns how many.
  std::size_t write_in_turn(std::size_t active, std::size_t most, double at_most) {
    const ibv_sge from{reinterpret_cast<std::uint64_t>(memory_.data()), 8, mr_->lkey};
    const double end = seconds() + at_most;
    // A QP has one request outstanding at most, so that depth does not limit.
    const std::size_t window = std::min(kOutstanding, active);
    std::size_t posted = 0;
    std::size_t done = 0;
    std::size_t next = 0;
    bool over = false;
    while (done < posted || (!over && posted < most)) {
      while (!over && posted < most && posted - done < window) {
        post_write(qps_[next], from, other_.memory, 0);
        next = next + 1 == active ? 0 : next + 1;
        ++posted;
      }
      done += poll_all();
      over = over || seconds() > end;
    }
    if (most != SIZE_MAX && done < most) fail("messages did not complete in time");
    return done;
  }

  std::size_t poll_all() {
    std::array<ibv_wc, 32> found{};
    std::size_t count = 0;
    for (ibv_cq* cq : cqs_) count += poll(cq, found.data(), found.size());
    return count;
  }

  Task task_;
  alignas(64) std::array<std::uint64_t, 2> memory_{};
  ibv_context* context_{open_first_device()};
  ibv_pd* pd_{};
  ibv_mr* mr_{};
  std::vector<ibv_cq*> cqs_;
  std::vector<ibv_qp*> qps_;
  Card other_;
  int first_{-1};
};

void live(const Task& task, bool first) {
  Side side{task};
  if (first) side.is_first(task.channel);
  side.create();
  side.connect();
  side.rest();
  side.work();
  side.destroy();
  meet(task.channel);
}

void both(Task task) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) fail("socketpair");
  const Peer peer{[&] {  // both sides open the device after the fork
    task.channel = ends[1];
    live(task, false);
  }};
  ::close(ends[1]);
  task.channel = ends[0];
  live(task, true);
}

}  // namespace
}  // namespace nerve::bench

int main(int argc, char** argv) {
  nerve::bench::Task task;
  for (int i = 4; i < argc; ++i) task.active.push_back(std::strtoul(argv[i], nullptr, 10));
  if (argc > 3) {
    task.qps = std::strtoul(argv[1], nullptr, 10);
    task.depth = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
    task.seconds = std::atof(argv[3]);
  }
  bool valid = task.qps > 0 && task.depth > 0 && task.seconds > 0;
  for (const std::size_t active : task.active) valid &= active > 0 && active <= task.qps;
  if (!valid) {
    std::fprintf(stderr, "usage: nerve_live_qps QPS DEPTH SECONDS ACTIVE...\n");
    return 2;
  }
  const std::string shards = std::to_string((task.qps + 12'499) / 12'500);
  (void)::setenv("NERVE_SHARDS", shards.c_str(), 0);
  nerve::bench::both(task);
  return 0;
}
