// Completion channels and asynchronous events: descriptors that poll, and acknowledgements.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

bool readable(int fd, int wait_ms = 0) {
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, wait_ms) == 1;
}

void no_waiting(int fd) { ASSERT_EQ(::fcntl(fd, F_SETFL, O_NONBLOCK), 0); }

class Events : public Pair {
 protected:
  ibv_cq* make_cq(int depth) override {
    if (channel == nullptr) channel = ibv_create_comp_channel(context);
    return ibv_create_cq(context, depth, this, channel, 0);
  }
  void TearDown() override {
    EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
    for (End* end : {&a, &b}) {
      if (end->qp != nullptr) {
        EXPECT_EQ(ibv_destroy_qp(end->qp), 0);
      }
      if (end->cq != nullptr) {
        EXPECT_EQ(ibv_destroy_cq(end->cq), 0);
      }
      end->qp = nullptr;
      end->cq = nullptr;
    }
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
    Pair::TearDown();
  }
  void take_event() {
    ibv_cq* cq{};
    void* told{};
    ASSERT_EQ(ibv_get_cq_event(channel, &cq, &told), 0);
    EXPECT_EQ(cq, a.cq);
    ibv_ack_cq_events(cq, 1);
  }
  void write() {
    ibv_sge local = a.sge(8);
    ibv_send_wr wr{};
    wr.sg_list = &local;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = b.at(), .rkey = b.mr->rkey};
    ibv_send_wr* bad{};
    ASSERT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
  }

  ibv_comp_channel* channel{};
};

TEST_F(Events, AnArmedCqMakesTheChannelReadable) {
  ibv_cq* cq{};
  void* told{};
  no_waiting(channel->fd);
  EXPECT_EQ(ibv_get_cq_event(channel, &cq, &told), -1);
  EXPECT_EQ(errno, EAGAIN);

  ASSERT_EQ(ibv_req_notify_cq(a.cq, 0), 0);
  write();
  good_completion(a);  // polling drives the engine
  ASSERT_TRUE(readable(channel->fd));
  ASSERT_EQ(ibv_get_cq_event(channel, &cq, &told), 0);
  EXPECT_EQ(cq, a.cq);
  EXPECT_EQ(told, this);
  EXPECT_FALSE(readable(channel->fd));
  ibv_ack_cq_events(cq, 1);
}

TEST_F(Events, ASleepingThreadIsWoken) {
  ASSERT_EQ(ibv_req_notify_cq(a.cq, 0), 0);
  write();
  take_event();
  good_completion(a);
}

TEST_F(Events, EventsOfADestroyedCqAreDropped) {
  ASSERT_EQ(ibv_req_notify_cq(a.cq, 0), 0);
  write();
  good_completion(a);
  ASSERT_TRUE(readable(channel->fd));
  ASSERT_EQ(ibv_destroy_qp(a.qp), 0);
  ASSERT_EQ(ibv_destroy_cq(a.cq), 0);
  a.qp = nullptr;
  a.cq = nullptr;
  EXPECT_FALSE(readable(channel->fd));
}

TEST_F(Events, DestroyWaitsForTheAcknowledgement) {
  ASSERT_EQ(ibv_req_notify_cq(a.cq, 0), 0);
  write();
  good_completion(a);
  ibv_cq* cq{};
  void* told{};
  ASSERT_EQ(ibv_get_cq_event(channel, &cq, &told), 0);
  ASSERT_EQ(ibv_destroy_qp(a.qp), 0);
  a.qp = nullptr;
  std::thread acknowledges{[cq] { ibv_ack_cq_events(cq, 1); }};
  EXPECT_EQ(ibv_destroy_cq(a.cq), 0);
  a.cq = nullptr;
  acknowledges.join();
}

TEST_F(Events, ADrainedQueueIsAnAsynchronousEvent) {
  no_waiting(context->async_fd);
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(context, &event), -1);
  EXPECT_EQ(errno, EAGAIN);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  ASSERT_EQ(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
  ASSERT_TRUE(readable(context->async_fd));
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_SQ_DRAINED);
  EXPECT_EQ(event.element.qp, a.qp);
  ibv_ack_async_event(&event);
}

// Events fetched before a fork are the parent's to acknowledge; a child that cleans up does not
// wait for that.
TEST_F(Events, AForkedChildDoesNotWaitForAcknowledgements) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  ASSERT_EQ(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);  // in case it waits
    ::_exit(ibv_destroy_qp(a.qp));
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ibv_ack_async_event(&event);
}

TEST_F(Events, ADeviceMayBeClosedWhileInUse) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_GT(count, 0);
  ibv_context* second = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  ASSERT_NE(second, nullptr);
  // The structures are the program's to leak; kept reachable, so that no leak is reported.
  static ibv_pd* domain = ibv_alloc_pd(second);
  static ibv_cq* cq = ibv_create_cq(second, 4, nullptr, nullptr, 0);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {1, 1, 1, 1, 0};
  init.qp_type = IBV_QPT_UD;
  static ibv_qp* qp = ibv_create_qp(domain, &init);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(domain), EBUSY);
  EXPECT_EQ(ibv_close_device(second), 0);
  write();  // the engine that both contexts share keeps working
  good_completion(a);
}

// Runs `body` in a thread that is then cancelled; returns whether it ended by that.
template <class Body>
bool ends_when_cancelled(Body body) {
  std::atomic<bool> begun{};
  const auto run = [&] {
    begun = true;
    body();
  };
  using Run = decltype(run);
  pthread_t thread{};
  const auto start = [](void* given) -> void* {
    (*static_cast<Run*>(given))();
    return nullptr;
  };
  EXPECT_EQ(
      ::pthread_create(&thread, nullptr, start, const_cast<void*>(static_cast<const void*>(&run))),
      0);
  while (!begun) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds{20});  // it waits by now
  EXPECT_EQ(::pthread_cancel(thread), 0);
  void* result{};
  EXPECT_EQ(::pthread_join(thread, &result), 0);
  return result == PTHREAD_CANCELED;
}

TEST_F(Events, AWaitingThreadCanBeCancelled) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer does not notice that frames of a cancelled thread are gone";
#endif
  EXPECT_TRUE(ends_when_cancelled([&] {
    ibv_cq* cq{};
    void* told{};
    (void)ibv_get_cq_event(channel, &cq, &told);
  }));
  EXPECT_TRUE(ends_when_cancelled([&] {
    ibv_async_event event{};
    (void)ibv_get_async_event(context, &event);
  }));
  // No event was lost with them.
  ASSERT_EQ(ibv_req_notify_cq(a.cq, 0), 0);
  write();
  take_event();
}

TEST_F(Events, OtherCallsAreNoCancellationPoints) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer does not notice that frames of a cancelled thread are gone";
#endif
  std::atomic<int> done{};
  EXPECT_TRUE(ends_when_cancelled([&] {
    (void)::pthread_cancel(::pthread_self());
    for (; done < 100; ++done) {  // none of these calls is a cancellation point
      (void)ibv_req_notify_cq(a.cq, 0);
      write();
      ibv_wc wc{};
      while (ibv_poll_cq(a.cq, 1, &wc) == 0) continue;
    }
    for (;;) ::pthread_testcancel();
  }));
  EXPECT_EQ(done, 100);
  ibv_cq* cq{};
  void* told{};
  ASSERT_EQ(ibv_get_cq_event(channel, &cq, &told), 0);
  ibv_ack_cq_events(cq, 1);
}

}  // namespace
}  // namespace verbs_test
