// Goal: many more threads than CPUs, all polling without a pause, are as fast as the work allows.
// Each message waits for a thread that has no CPU yet; a thread that polls in vain, or that was
// preempted with the lock held, must not keep it from running.
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <thread>

#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kThreads = 16;
constexpr std::uint32_t kDepth = 16;
constexpr std::uint32_t kMessageBytes = 64;
// Reached only on failure.
constexpr std::chrono::seconds kPatience{300};

// The CPU time of all threads, which does not depend on the machine's other load: threads that wait
// for each other should use none.
std::chrono::milliseconds processor_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
  };
  return std::chrono::duration_cast<std::chrono::milliseconds>(of(used.ru_utime) +
                                                               of(used.ru_stime));
}

// The first two CPUs that the process may use: with more, polling threads would not compete.
void use_two_processors() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  cpu_set_t two;
  CPU_ZERO(&two);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++i) {
    if (CPU_ISSET(i, &usable)) CPU_SET(i, &two);
  }
  ::sched_setaffinity(0, sizeof two, &two);
}

// The objects of a thread: a CQ, an SRQ, and a QP in each direction of a ring of threads.
struct Place : End {
  ibv_srq* srq{};
  ibv_qp* to_next{};
  ibv_qp* from_previous{};
};

class Threads : public Pair {
 protected:
  void SetUp() override {
    use_two_processors();
    ASSERT_NO_FATAL_FAILURE(Device::SetUp());
    give_up_ = Clock::now() + kPatience;
    for (auto& place : places_) {
      place = std::make_unique<Place>();
      place->cq = ibv_create_cq(context, 4 * kDepth, nullptr, nullptr, 0);
      ibv_srq_init_attr init{};
      init.attr = {.max_wr = kDepth, .max_sge = 1, .srq_limit = 0};
      place->srq = ibv_create_srq(pd, &init);
      place->mr = ibv_reg_mr(pd, place->memory.data(), sizeof place->memory, kAllAccess);
      ASSERT_TRUE(place->cq != nullptr && place->srq != nullptr && place->mr != nullptr);
    }
  }
  void TearDown() override {
    for (auto& place : places_) {
      EXPECT_EQ(ibv_destroy_srq(place->srq), 0);
      EXPECT_EQ(ibv_destroy_cq(place->cq), 0);
      EXPECT_EQ(ibv_dereg_mr(place->mr), 0);
    }
    Device::TearDown();
  }

  Place& next(std::uint32_t thread) { return *places_[(thread + 1) % kThreads]; }

  ibv_qp* make(const Place& place) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = place.cq;
    attr.srq = place.srq;
    attr.cap = {.max_send_wr = kDepth,
                .max_recv_wr = 0,
                .max_send_sge = 1,
                .max_recv_sge = 0,
                .max_inline_data = 0};
    attr.qp_type = IBV_QPT_RC;
    attr.sq_sig_all = 1;
    return ibv_create_qp(pd, &attr);
  }
  void join(ibv_qp* qp, const ibv_qp* peer) {
    End one;
    End other;
    one.qp = qp;
    other.qp = const_cast<ibv_qp*>(peer);
    connect(one, other);
  }

  bool post_receive(const Place& place) {
    ibv_sge sge = place.sge(kMessageBytes, 256);
    ibv_recv_wr wr{.wr_id = 0, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad{};
    return ibv_post_srq_recv(place.srq, &wr, &bad) == 0;
  }
  bool post_send(const Place& place) {
    ibv_sge sge = place.sge(kMessageBytes);
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    ibv_send_wr* bad{};
    return ibv_post_send(place.to_next, &wr, &bad) == 0;
  }
  // One message to the next thread and one from the previous.
  bool exchange(const Place& place) {
    if (!post_receive(place) || !post_send(place)) return false;
    for (int completions = 0; completions < 2;) {
      ibv_wc wc{};
      const int count = ibv_poll_cq(place.cq, 1, &wc);
      if (count < 0 || (count > 0 && wc.status != IBV_WC_SUCCESS)) return false;
      completions += count;
      if (count == 0 && Clock::now() > give_up_) return false;
    }
    return true;
  }

  template <class Work>
  void in_all_threads(Work work) {
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < kThreads; ++i) threads.emplace_back([work, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(failed_) << "a call failed, or nothing came for " << kPatience.count() << " s";
  }

  std::array<std::unique_ptr<Place>, kThreads> places_;
  std::atomic<bool> failed_{};
  Clock::time_point give_up_;
};

TEST_F(Threads, AnSrqEach) {
#if defined(__SANITIZE_THREAD__)
  constexpr int kMessages = 50;
#else
  constexpr int kMessages = 1000;
#endif
  // Two CPUs need 0.3 to 2 seconds; without yielding empty polls, 20 and more.
  constexpr std::chrono::seconds kEnough{12};
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    places_[i]->to_next = make(*places_[i]);
    next(i).from_previous = make(next(i));
  }
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    psn = 0x1000 * (i + 1);
    join(places_[i]->to_next, next(i).from_previous);
    join(next(i).from_previous, places_[i]->to_next);
  }
  const auto before = processor_time();
  in_all_threads([this](std::uint32_t i) {
    for (int n = 0; n < kMessages && !failed_; ++n) {
      if (!exchange(*places_[i])) failed_ = true;
    }
  });
  EXPECT_LT(processor_time() - before, kEnough);
  for (auto& place : places_) {
    EXPECT_EQ(ibv_destroy_qp(place->to_next), 0);
    EXPECT_EQ(ibv_destroy_qp(place->from_previous), 0);
  }
}

// QPs are connected, used once and destroyed, while a quarter of the threads poll their own empty
// queues.
TEST_F(Threads, CreatingAndDestroyingQps) {
  constexpr int kRounds = 20;
  constexpr std::uint32_t kPollers = 4;
  psn = 0x1000;
  std::atomic<bool> done{};
  std::vector<std::thread> pollers;
  for (std::uint32_t i = 0; i < kPollers; ++i) {
    pollers.emplace_back([&, cq = ibv_create_cq(context, 1, nullptr, nullptr, 0)] {
      ibv_wc wc{};
      while (!done) EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
      EXPECT_EQ(ibv_destroy_cq(cq), 0);
    });
  }
  std::barrier together{kThreads};
  in_all_threads([&](std::uint32_t i) {
    Place& place = *places_[i];
    for (int n = 0; n < kRounds; ++n) {
      place.to_next = make(place);
      place.from_previous = make(place);
      together.arrive_and_wait();
      join(place.to_next, next(i).from_previous);
      join(next(i).from_previous, place.to_next);
      together.arrive_and_wait();
      if (!failed_ && !exchange(place)) failed_ = true;
      together.arrive_and_wait();
      if (ibv_destroy_qp(place.to_next) != 0) failed_ = true;
      if (ibv_destroy_qp(place.from_previous) != 0) failed_ = true;
    }
  });
  done = true;
  for (std::thread& poller : pollers) poller.join();
}

}  // namespace
}  // namespace verbs_test
