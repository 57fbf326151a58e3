// The cost of idle connections: `idle CORE CORE QPS SECONDS` connects two processes by this many RC
// QPs, sends one message on each, and then leaves them idle. Prints `value` and the CPU use of the
// busier process in percent of a core, with all its threads.
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <cstdlib>

#include "bench/live/rc.h"
#include "bench/two_processes.h"

namespace nerve::bench {
namespace {

constexpr double kPatience = 60;  // seconds, for all first messages

struct Task {
  std::size_t qps{};
  unsigned seconds{};
  int channel{};
};

// What the two processes exchange.
struct Card {
  ibv_gid gid{};
  RemoteMemory memory{};
};

// One of the two processes, with a device and many QPs. Nothing is destroyed: the process exits as
// a whole.
class Side {
 public:
  explicit Side(const Task& task) : task_{task} {
    pd_ = ibv_alloc_pd(context_);
    if (pd_ == nullptr) fail("ibv_alloc_pd");
    mr_ = ibv_reg_mr(pd_, memory_.data(), sizeof memory_,
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr_ == nullptr) fail("ibv_reg_mr");
    cq_ = make_cq(context_, task.qps);
    for (std::size_t i = 0; i < task.qps; ++i) {
      qps_.push_back(make_rc(pd_, {.send_cq = cq_, .recv_cq = cq_}));
    }
  }

  void connect() {
    const Card own{.gid = gid_of(context_),
                   .memory = {reinterpret_cast<std::uint64_t>(memory_.data()) + 8, mr_->rkey}};
    std::vector<std::uint32_t> numbers;
    for (const ibv_qp* qp : qps_) numbers.push_back(qp->qp_num);
    const std::size_t size = numbers.size() * sizeof numbers[0];
    send_all(task_.channel, &own, sizeof own);
    send_all(task_.channel, numbers.data(), size);
    receive_all(task_.channel, &other_, sizeof other_);
    receive_all(task_.channel, numbers.data(), size);
    for (std::size_t i = 0; i < qps_.size(); ++i) {
      connect_rc(qps_[i], other_.gid, numbers[i]);
    }
    meet(task_.channel);
  }

  // Sends a first message, so that everything created on demand exists.
  void greet() {
    for (ibv_qp* qp : qps_) {
      post_write(qp, {reinterpret_cast<std::uint64_t>(memory_.data()), 8, mr_->lkey}, other_.memory,
                 0);
    }
    std::size_t done = 0;
    ibv_wc wc{};
    const double end = seconds() + kPatience;
    while (done < qps_.size() && seconds() < end) {
      done += poll(cq_, &wc, 1);
    }
    if (done < qps_.size()) fail("the first messages did not complete in time");
    meet(task_.channel);
  }

  // Percent of a core.
  [[nodiscard]] double rest() const {
    ::sleep(1);  // for what follows the last message
    const double begin = seconds();
    const double used = cpu_seconds();
    ::sleep(task_.seconds);
    return (cpu_seconds() - used) / (seconds() - begin) * 100;
  }

 private:
  static double cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  Task task_;
  alignas(64) std::array<std::uint64_t, 2> memory_{};
  ibv_context* context_{open_first_device()};
  ibv_pd* pd_{};
  ibv_mr* mr_{};
  ibv_cq* cq_{};
  std::vector<ibv_qp*> qps_;
  Card other_;
};

double live(const Task& task) {
  Side side{task};
  side.connect();
  side.greet();
  return side.rest();
}

double busier_of_two(Task task) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) fail("socketpair");
  const Peer peer{[&] {  // both sides open the device after the fork
    task.channel = ends[1];
    const double share = live(task);
    send_all(ends[1], &share, sizeof share);
  }};
  ::close(ends[1]);
  task.channel = ends[0];
  const double ours = live(task);
  double theirs = 0;
  receive_all(ends[0], &theirs, sizeof theirs);
  return std::max(ours, theirs);
}

}  // namespace
}  // namespace nerve::bench

int main(int argc, char** argv) {
  const int qps = argc == 5 ? std::atoi(argv[3]) : 0;
  const int seconds = argc == 5 ? std::atoi(argv[4]) : 0;
  if (qps < 1 || seconds < 1) {
    std::fprintf(stderr, "usage: nerve_live_idle CORE CORE QPS SECONDS\n");
    return 2;
  }
  const double share = nerve::bench::busier_of_two({.qps = static_cast<std::size_t>(qps),
                                                    .seconds = static_cast<unsigned>(seconds),
                                                    .channel = {}});
  std::printf("value %.4f\n", share);
  return 0;
}
