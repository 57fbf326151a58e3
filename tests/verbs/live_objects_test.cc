// Goal: a slow path that gets an object which was destroyed, or whose handle or context was
// overwritten, returns the errno that a kernel returns for an unknown handle, and changes nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

class LiveObjects : public Device {
 protected:
  void SetUp() override {
    Device::SetUp();
    buffer.resize(64);
    build();
  }
  void build() {
    mr = ibv_reg_mr(pd, buffer.data(), buffer.size(), kAllAccess);
    mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, 4, nullptr, channel, 0);
    ibv_srq_init_attr srq_attr{};
    srq_attr.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
    srq = ibv_create_srq(pd, &srq_attr);
    qp = make_qp();
    ibv_ah_attr to{};
    to.is_global = 1;
    to.port_num = 1;
    ASSERT_EQ(ibv_query_gid(context, 1, 0, &to.grh.dgid), 0);
    ah = ibv_create_ah(pd, &to);
    ibv_td_init_attr td_attr{};
    td = ibv_alloc_td(context, &td_attr);
    ibv_alloc_dm_attr dm_attr{.length = 64, .log_align_req = 0, .comp_mask = 0};
    dm = ibv_alloc_dm(context, &dm_attr);
    for (const void* made :
         {static_cast<void*>(mr), static_cast<void*>(mw), static_cast<void*>(channel),
          static_cast<void*>(cq), static_cast<void*>(srq), static_cast<void*>(qp),
          static_cast<void*>(ah), static_cast<void*>(td), static_cast<void*>(dm)}) {
      ASSERT_NE(made, nullptr);
    }
  }
  void TearDown() override {
    for (const auto& destroy : {destroy_ah, destroy_qp, destroy_mw, destroy_mr, destroy_srq,
                                destroy_cq, destroy_channel, destroy_td, destroy_dm}) {
      EXPECT_EQ(destroy(), 0);
    }
    Device::TearDown();
  }
  ibv_qp* make_qp() {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq;
    attr.srq = srq;
    attr.cap = {1, 0, 1, 0, 0};
    attr.qp_type = IBV_QPT_RC;
    return ibv_create_qp(pd, &attr);
  }

  using Destroy = std::function<int()>;
  std::vector<char> buffer;
  ibv_mr* mr{};
  ibv_mw* mw{};
  ibv_comp_channel* channel{};
  ibv_cq* cq{};
  ibv_srq* srq{};
  ibv_qp* qp{};
  ibv_ah* ah{};
  ibv_td* td{};
  ibv_dm* dm{};
  Destroy destroy_mr{[this] { return ibv_dereg_mr(mr); }};
  Destroy destroy_mw{[this] { return ibv_dealloc_mw(mw); }};
  Destroy destroy_channel{[this] { return ibv_destroy_comp_channel(channel); }};
  Destroy destroy_cq{[this] { return ibv_destroy_cq(cq); }};
  Destroy destroy_srq{[this] { return ibv_destroy_srq(srq); }};
  Destroy destroy_qp{[this] { return ibv_destroy_qp(qp); }};
  Destroy destroy_ah{[this] { return ibv_destroy_ah(ah); }};
  Destroy destroy_td{[this] { return ibv_dealloc_td(td); }};
  Destroy destroy_dm{[this] { return ibv_free_dm(dm); }};
};

// Restores what it overwrote.
template <class T>
class Damaged {
 public:
  Damaged(T& member, T damaged) : member_{member}, before_{member} { member = damaged; }
  ~Damaged() { member_ = before_; }
  Damaged(const Damaged&) = delete;
  Damaged& operator=(const Damaged&) = delete;

 private:
  T& member_;
  T before_;
};

TEST_F(LiveObjects, AnOverwrittenHandleGivesEnoent) {
  const auto unknown = [](std::uint32_t& handle, const Destroy& destroy) {
    const Damaged<std::uint32_t> damage{handle, 0xdead'beefU};
    errno = 0;
    const bool refused = destroy() == ENOENT && errno == ENOENT;
    return refused;
  };
  EXPECT_TRUE(unknown(pd->handle, [this] { return ibv_dealloc_pd(pd); }));
  EXPECT_TRUE(unknown(mr->handle, destroy_mr));
  EXPECT_TRUE(unknown(mw->handle, destroy_mw));
  EXPECT_TRUE(unknown(cq->handle, destroy_cq));
  EXPECT_TRUE(unknown(srq->handle, destroy_srq));
  EXPECT_TRUE(unknown(qp->handle, destroy_qp));
  EXPECT_TRUE(unknown(ah->handle, destroy_ah));
  EXPECT_TRUE(unknown(dm->handle, destroy_dm));

  const Damaged<std::uint32_t> damage{pd->handle, 0xdead'beefU};
  EXPECT_EQ(ibv_reg_mr(pd, buffer.data(), buffer.size(), 0), nullptr);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(make_qp(), nullptr);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(LiveObjects, AnOverwrittenContextGivesEinval) {
  std::vector<std::byte> zeroes(sizeof(verbs_context) * 2);
  auto* const nowhere = reinterpret_cast<ibv_context*>(zeroes.data() + sizeof(verbs_context));
  const auto invalid = [&](ibv_context*& member, const Destroy& destroy) {
    const Damaged<ibv_context*> damage{member, nowhere};
    errno = 0;
    const bool refused = destroy() == EINVAL && errno == EINVAL;
    return refused;
  };
  EXPECT_TRUE(invalid(pd->context, [this] { return ibv_dealloc_pd(pd); }));
  EXPECT_TRUE(invalid(mr->context, destroy_mr));
  EXPECT_TRUE(invalid(channel->context, destroy_channel));
  EXPECT_TRUE(invalid(cq->context, destroy_cq));
  EXPECT_TRUE(invalid(srq->context, destroy_srq));
  EXPECT_TRUE(invalid(qp->context, destroy_qp));
  EXPECT_TRUE(invalid(ah->context, destroy_ah));

  ibv_device_attr attr{};
  EXPECT_EQ(ibv_query_device(nowhere, &attr), EINVAL);
  EXPECT_EQ(ibv_alloc_pd(nowhere), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_create_cq(nowhere, 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(ibv_create_comp_channel(nowhere), nullptr);
  ibv_gid gid{};
  EXPECT_EQ(ibv_query_gid(nowhere, 1, 0, &gid), -1);
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(nowhere, &event), -1);
  EXPECT_EQ(ibv_close_device(nowhere), EINVAL);
}

TEST_F(LiveObjects, AnObjectOfAnotherKindGivesEinval) {
  EXPECT_EQ(ibv_destroy_qp(reinterpret_cast<ibv_qp*>(cq)), EINVAL);
  EXPECT_EQ(ibv_dealloc_pd(reinterpret_cast<ibv_pd*>(mr)), EINVAL);
  EXPECT_EQ(ibv_dereg_mr(reinterpret_cast<ibv_mr*>(pd)), EINVAL);
}

TEST_F(LiveObjects, ACopyIsNotTheObject) {
  auto copy = std::make_unique<ibv_qp>(*qp);
  EXPECT_EQ(ibv_destroy_qp(copy.get()), ENOENT);
  ibv_mr region = *mr;
  EXPECT_EQ(ibv_dereg_mr(&region), ENOENT);
  EXPECT_EQ(ibv_dealloc_pd(nullptr), ENOENT);
}

// In the order of TearDown(), each twice; then the fixture gets new ones to destroy.
TEST_F(LiveObjects, DestroyingTwiceGivesEnoent) {
  for (const auto& destroy : {destroy_ah, destroy_qp, destroy_mw, destroy_mr, destroy_srq,
                              destroy_cq, destroy_channel, destroy_td, destroy_dm}) {
    EXPECT_EQ(destroy(), 0);
    errno = 0;
    EXPECT_EQ(destroy(), ENOENT);
    EXPECT_EQ(errno, ENOENT);
  }
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), ENOENT);
  attr.qp_state = IBV_QPS_ERR;
  EXPECT_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), ENOENT);
  EXPECT_EQ(ibv_resize_cq(cq, 8), ENOENT);
  ibv_srq_attr limit{};
  EXPECT_EQ(ibv_query_srq(srq, &limit), ENOENT);
  EXPECT_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), ENOENT);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0),
            IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(make_qp(), nullptr) << "its CQ and SRQ are gone";
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(ibv_create_cq(context, 1, nullptr, channel, 0), nullptr);
  EXPECT_EQ(errno, ENOENT);
  ibv_pd* gone = ibv_alloc_pd(context);
  EXPECT_EQ(ibv_dealloc_pd(gone), 0);
  EXPECT_EQ(ibv_dealloc_pd(gone), ENOENT);
  EXPECT_EQ(ibv_reg_mr(gone, buffer.data(), buffer.size(), 0), nullptr);
  EXPECT_EQ(errno, ENOENT);
  ASSERT_NO_FATAL_FAILURE(build());
}

TEST_F(LiveObjects, ClosingADeviceTwiceGivesEinval) {
  ibv_context* second = ibv_open_device(context->device);
  ASSERT_NE(second, nullptr);
  static ibv_pd* left = ibv_alloc_pd(second);  // leaked on purpose, reachable for a leak checker
  ASSERT_NE(left, nullptr);
  EXPECT_EQ(ibv_close_device(second), 0);
  errno = 0;
  EXPECT_EQ(ibv_close_device(second), EINVAL);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_dealloc_pd(left), ENOENT) << "it went with its device";
}

// All threads share the registry.
TEST_F(LiveObjects, ThreadsCreateAndDestroyAtTheSameTime) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int round = 0; round < 200; ++round) {
        ibv_pd* own = ibv_alloc_pd(context);
        ibv_mr* region = ibv_reg_mr(own, buffer.data(), buffer.size(), 0);
        EXPECT_EQ(ibv_dealloc_pd(own), EBUSY);
        EXPECT_EQ(ibv_dereg_mr(region), 0);
        EXPECT_EQ(ibv_dealloc_pd(own), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The child has none of the threads that used the registry when it was forked.
TEST_F(LiveObjects, AForkedChildCanUseTheRegistry) {
  std::atomic<bool> stop{};
  std::thread other{[&] {
    while (!stop) EXPECT_EQ(ibv_dealloc_mw(ibv_alloc_mw(pd, IBV_MW_TYPE_1)), 0);
  }};
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      ::_exit(ibv_dealloc_pd(nullptr) == ENOENT && ibv_query_pkey(context, 2, 0, nullptr) == -1
                  ? 0
                  : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  other.join();
}

}  // namespace
}  // namespace verbs_test
