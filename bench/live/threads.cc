// Many threads in one process: `threads SHAPE THREADS BYTES SECONDS` connects two processes by an
// RC QP per thread and keeps 64 requests in flight on each. Prints `value` and a number.
//
//   own        WRITEs; each thread has its own QP and CQ              requests per second
//   contexts   as own, and each thread opens the device               requests per second
//   shared_cq  WRITEs; all QPs use one CQ, which all threads poll     requests per second
//   srq        SENDs to as many threads, whose QPs share one SRQ      requests per second
//   workers    WRITEs in batches of 16: THREADS threads post and wait for their batch, as many
//              other threads only poll                                requests per second
//   churn      as own, while another thread registers memory and creates and destroys QPs: the
//              longest call of a sending thread                       microseconds
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <thread>

#include "bench/live/rc.h"
#include "bench/two_processes.h"

namespace nerve::bench {
namespace {

constexpr std::uint32_t kDepth = 64;
constexpr std::uint64_t kBatch = 16;
constexpr std::size_t kPollAtOnce = 16;
constexpr double kWarmUp = 0.2;  // seconds

struct Task {
  std::string_view shape;
  std::size_t threads{};
  std::uint32_t bytes{};
  double seconds{};
  int channel{};

  [[nodiscard]] bool is(std::string_view name) const { return shape == name; }
};

// A thread's QP and its resources.
struct Lane {
  ibv_qp* qp{};
  ibv_cq* cq{};
  ibv_srq* srq{};
  ibv_sge memory{};
  RemoteMemory target{};
  // Written by the thread that polls the CQ, read by the thread that posts; on its own cache line.
  alignas(64) std::atomic<std::uint64_t> completed{};
};

struct Card {
  ibv_gid gid{};
  std::uint32_t number{};
  RemoteMemory memory{};
};

// One of the two processes.
class Side {
 public:
  explicit Side(const Task& task) : task_{task} {
    for (std::size_t i = 0; i < task_.threads; ++i) add_lane();
    for (Lane& lane : lanes_) exchange_cards(lane);
    meet(task_.channel);
  }
  [[nodiscard]] std::deque<Lane>& lanes() { return lanes_; }
  [[nodiscard]] ibv_context* context() const { return context_; }
  [[nodiscard]] ibv_pd* pd() const { return pd_; }

 private:
  void add_lane() {
    const bool first = lanes_.empty();
    if (first || task_.is("contexts")) {
      context_ = open_first_device();
      if ((pd_ = ibv_alloc_pd(context_)) == nullptr) fail("ibv_alloc_pd");
    }
    if (first && task_.is("srq")) {
      ibv_srq_init_attr init{};
      init.attr = {.max_wr = static_cast<std::uint32_t>(kDepth * task_.threads),
                   .max_sge = 1,
                   .srq_limit = 0};
      if ((srq_ = ibv_create_srq(pd_, &init)) == nullptr) fail("ibv_create_srq");
    }
    Lane& lane = lanes_.emplace_back();
    lane.srq = srq_;
    const bool common = task_.is("shared_cq") && !first;
    const std::size_t users = task_.is("shared_cq") || task_.is("srq") ? task_.threads : 1;
    lane.cq = common ? lanes_.front().cq : make_cq(context_, 2 * kDepth * users);
    lane.qp =
        make_rc(pd_, {.send_cq = lane.cq, .recv_cq = lane.cq, .srq = lane.srq, .depth = kDepth});
    memory_.emplace_back(task_.bytes);
    ibv_mr* const mr = ibv_reg_mr(pd_, memory_.back().data(), task_.bytes,
                                  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr == nullptr) fail("ibv_reg_mr");
    lane.memory = {reinterpret_cast<std::uint64_t>(memory_.back().data()), task_.bytes, mr->lkey};
    lane.target = {lane.memory.addr, mr->rkey};  // replaced by that of the peer in exchange_cards
  }

  void exchange_cards(Lane& lane) {
    const Card own{gid_of(lane.qp->context), lane.qp->qp_num, lane.target};
    send_all(task_.channel, &own, sizeof own);
    Card other{};
    receive_all(task_.channel, &other, sizeof other);
    lane.target = other.memory;
    connect_rc(lane.qp, other.gid, other.number);
  }

  Task task_;
  ibv_context* context_{};
  ibv_pd* pd_{};
  ibv_srq* srq_{};
  std::deque<Lane> lanes_;
  std::deque<std::vector<std::byte>> memory_;
};

// Threads that run until the time is over.
class Team {
 public:
  using Body = std::function<void(const std::atomic<bool>& over)>;
  void add(Body body) {
    threads_.emplace_back([this, body = std::move(body)] { body(over_); });
  }
  void end() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> over_{};
  std::vector<std::thread> threads_;
};

// Each completion counts for the lane that posted the request, whichever thread polls it.
void poll_for_all(std::deque<Lane>& lanes, ibv_cq* cq) {
  std::array<ibv_wc, kPollAtOnce> found{};
  const std::size_t count = poll(cq, found.data(), found.size());
  for (const ibv_wc& wc : std::span{found}.first(count)) {
    lanes[wc.wr_id].completed.fetch_add(1, std::memory_order_relaxed);
  }
}

void post_one(const Task& task, const Lane& lane, std::uint64_t wr_id) {
  if (task.is("srq")) return post_send(lane.qp, lane.memory, wr_id);
  post_write(lane.qp, lane.memory, lane.target, wr_id);
}

// Posts while there is room, polls, repeats. Returns the longest call, in seconds.
double keep_sending(const Task& task, Side& side, std::size_t index,
                    const std::atomic<bool>& over) {
  Lane& lane = side.lanes()[index];
  const bool timed = task.is("churn");
  std::uint64_t posted = 0;
  double longest = 0;
  while (!over) {
    const double begin = timed ? seconds() : 0;
    while (posted - lane.completed.load(std::memory_order_relaxed) < kDepth) {
      post_one(task, lane, index);
      ++posted;
      if (timed) break;
    }
    poll_for_all(side.lanes(), lane.cq);
    if (timed) longest = std::max(longest, seconds() - begin);
  }
  return longest;
}

void submit_batches(const Task& task, Side& side, std::size_t index,
                    const std::atomic<bool>& over) {
  Lane& lane = side.lanes()[index];
  for (std::uint64_t posted = 0; !over;) {
    for (std::uint64_t i = 0; i < kBatch; ++i) post_one(task, lane, index);
    posted += kBatch;
    while (!over && lane.completed.load(std::memory_order_relaxed) < posted) {
    }
  }
}

void make_and_destroy(Side& side, const std::atomic<bool>& over) {
  std::vector<std::byte> memory(std::size_t{1} << 20U);
  ibv_cq* const cq = make_cq(side.context(), 16);
  while (!over) {
    ibv_mr* const mr = ibv_reg_mr(side.pd(), memory.data(), memory.size(),
                                  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (mr == nullptr) fail("ibv_reg_mr");
    ibv_qp* const qp = make_rc(side.pd(), {.send_cq = cq, .recv_cq = cq});
    if (ibv_destroy_qp(qp) != 0) fail("ibv_destroy_qp");
    if (ibv_dereg_mr(mr) != 0) fail("ibv_dereg_mr");
  }
}

void post_receive(const Lane& lane) {
  ibv_sge sge = lane.memory;
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad{};
  if (ibv_post_srq_recv(lane.srq, &wr, &bad) != 0) fail("ibv_post_srq_recv");
}

void keep_receiving(const Lane& lane, const std::atomic<bool>& over) {
  std::array<ibv_wc, kPollAtOnce> found{};
  while (!over) {
    for (std::size_t n = poll(lane.cq, found.data(), found.size()); n > 0; --n) post_receive(lane);
  }
}

// The target of WRITEs only has to exist; the target of SENDs posts receives.
void serve(const Task& task) {
  Side side{task};
  Team team;
  if (task.is("srq")) {
    for (Lane& lane : side.lanes()) {
      for (std::uint32_t i = 0; i < kDepth; ++i) post_receive(lane);
    }
    for (Lane& lane : side.lanes()) {
      team.add([&](const std::atomic<bool>& over) { keep_receiving(lane, over); });
    }
  }
  meet(task.channel);
  meet(task.channel);
  team.end();
}

std::uint64_t completed(Side& side) {
  std::uint64_t sum = 0;
  for (const Lane& lane : side.lanes()) sum += lane.completed;
  return sum;
}

double drive(const Task& task) {
  Side side{task};
  meet(task.channel);
  Team team;
  std::atomic<double> longest{};
  for (std::size_t i = 0; i < task.threads; ++i) {
    if (task.is("workers")) {
      team.add([&, i](const auto& over) { submit_batches(task, side, i, over); });
      team.add([&, i](const auto& over) {
        while (!over) poll_for_all(side.lanes(), side.lanes()[i].cq);
      });
      continue;
    }
    team.add([&, i](const auto& over) {
      const double own = keep_sending(task, side, i, over);
      double seen = longest;
      while (own > seen && !longest.compare_exchange_weak(seen, own)) {
      }
    });
  }
  if (task.is("churn")) team.add([&](const auto& over) { make_and_destroy(side, over); });

  const auto sleep = [](double time) { ::usleep(static_cast<useconds_t>(time * 1e6)); };
  sleep(kWarmUp);
  const std::uint64_t before = completed(side);
  const double begin = seconds();
  sleep(task.seconds);
  const double rate = static_cast<double>(completed(side) - before) / (seconds() - begin);
  team.end();
  meet(task.channel);
  return task.is("churn") ? longest * 1e6 : rate;
}

double measure(Task task) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) fail("socketpair");
  const pid_t child = ::fork();  // both sides open the device after the fork
  if (child < 0) fail("fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    task.channel = ends[1];
    serve(task);
    ::_exit(0);
  }
  ::close(ends[1]);
  task.channel = ends[0];
  const double value = drive(task);
  ::waitpid(child, nullptr, 0);
  return value;
}

}  // namespace
}  // namespace nerve::bench

int main(int argc, char** argv) {
  constexpr std::array<std::string_view, 6> kShapes{"own", "contexts", "shared_cq",
                                                    "srq", "workers",  "churn"};
  nerve::bench::Task task;
  if (argc == 5) {
    task = {.shape = argv[1],
            .threads = static_cast<std::size_t>(std::max(0, std::atoi(argv[2]))),
            .bytes = static_cast<std::uint32_t>(std::max(0, std::atoi(argv[3]))),
            .seconds = std::atof(argv[4])};
  }
  const bool known = std::find(kShapes.begin(), kShapes.end(), task.shape) != kShapes.end();
  if (!known || task.threads < 1 || task.threads > 512 || task.bytes < 1 || task.seconds <= 0) {
    std::fprintf(stderr,
                 "usage: nerve_live_threads own|contexts|shared_cq|srq|workers|churn THREADS BYTES "
                 "SECONDS\n");
    return 2;
  }
  std::printf("value %.4f\n", nerve::bench::measure(task));
  return 0;
}
