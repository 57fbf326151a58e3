// Goal: QPs of one process in different shards behave as if there were one engine: memory, CQs,
// SRQs and windows work in all of them, whichever threads run at the same time.
// Each test runs in its own process, so that it controls the number of shards.
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "tests/host/process.h"
#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

// A pair of QPs whose CQs are in two shards.
struct Kit : Pair {
  Kit() { SetUp(); }
  ~Kit() override { TearDown(); }
  void TestBody() override {}

  using Pair::a;
  using Pair::b;
  using Pair::completion;
  using Pair::connect;
  using Pair::context;
  using Pair::good_completion;
  using Pair::make_qp;
  using Pair::pd;
  using Pair::post_recv;

  // Another QP with these CQs, and memory for it.
  void add(End& end, ibv_cq* send_cq, ibv_cq* recv_cq, ibv_srq* srq = nullptr) {
    ibv_qp_init_attr attr{};
    attr.send_cq = send_cq;
    attr.recv_cq = recv_cq;
    attr.srq = srq;
    attr.cap = {.max_send_wr = 8,
                .max_recv_wr = 8,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    attr.qp_type = IBV_QPT_RC;
    end.qp = ibv_create_qp(pd, &attr);
    ASSERT_NE(end.qp, nullptr);
    end.mr = ibv_reg_mr(pd, end.memory.data(), sizeof end.memory, kAllAccess);
    ASSERT_NE(end.mr, nullptr);
  }

  static int send(End& from, ibv_wr_opcode opcode, std::uint32_t length, const End& to,
                  std::uint64_t wr_id = 1) {
    ibv_sge sge = from.sge(length);
    ibv_send_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = to.at(), .rkey = to.mr->rkey};
    ibv_send_wr* bad{};
    return ibv_post_send(from.qp, &wr, &bad);
  }
};

unsigned shard_of(const ibv_qp* qp) { return qp->qp_num >> 14U; }

void in_process(const char* polling, const std::function<void()>& story) {
  const nerve::test::Process child{[&](nerve::test::Line line) {
    ::setenv("NERVE_SHARDS", "4", 1);
    ::setenv("NERVE_POLLING", polling, 1);
    story();
    line.say('e');
  }};
  EXPECT_EQ(child.line().hear<char>(), 'e');
}

void in_process(const std::function<void()>& story) { in_process("auto", story); }

TEST(Shards, CqsAreSpreadAndQpsFollowThem) {
  in_process([] {
    Kit kit;
    EXPECT_NE(shard_of(kit.a.qp), shard_of(kit.b.qp));
    ibv_qp* const other = kit.make_qp(kit.a);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(shard_of(other), shard_of(kit.a.qp));
    EXPECT_EQ(ibv_destroy_qp(other), 0);
  });
}

TEST(Shards, EveryOperationWorksBetweenShards) {
  in_process([] {
    Kit kit;
    std::ranges::fill(kit.a.memory, 0x1234);
    ASSERT_EQ(Kit::send(kit.a, IBV_WR_RDMA_WRITE, 4096, kit.b), 0);
    kit.good_completion(kit.a);
    EXPECT_EQ(kit.b.memory, kit.a.memory);
    std::ranges::fill(kit.b.memory, 0x5678);
    ASSERT_EQ(Kit::send(kit.a, IBV_WR_RDMA_READ, 4096, kit.b), 0);
    kit.good_completion(kit.a);
    EXPECT_EQ(kit.a.memory, kit.b.memory);
    std::ranges::fill(kit.a.memory, 0x9abc);
    ibv_sge into = kit.b.sge(4096);
    ASSERT_EQ(kit.post_recv(kit.b, 7, &into, 1), 0);
    ASSERT_EQ(Kit::send(kit.a, IBV_WR_SEND, 4096, kit.b), 0);
    kit.good_completion(kit.a);
    EXPECT_EQ(kit.good_completion(kit.b).wr_id, 7U);
    EXPECT_EQ(kit.b.memory, kit.a.memory);
  });
}

// Whichever CQ such a QP completes on, no completion is lost or duplicated.
TEST(Shards, AQpWithCqsOfTwoShardsJoinsThem) {
  in_process([] {
    constexpr int kMessages = 1000;
    Kit kit;
    End c, d;
    for (End* end : {&c, &d}) ASSERT_NO_FATAL_FAILURE(kit.add(*end, kit.a.cq, kit.b.cq));
    kit.connect(c, d);
    kit.connect(d, c);
    std::atomic<int> received{};
    std::thread receiver{[&] {
      for (int i = 0; i < kMessages; ++i) {
        ibv_sge into = d.sge(64);
        if (kit.post_recv(d, static_cast<std::uint64_t>(i), &into, 1) != 0) return;
        if (kit.good_completion(kit.b).wr_id != static_cast<std::uint64_t>(i)) return;
        ++received;
      }
    }};
    for (int i = 0; i < kMessages; ++i) {
      ASSERT_EQ(Kit::send(c, IBV_WR_SEND, 64, d, static_cast<std::uint64_t>(i)), 0);
      ASSERT_EQ(kit.good_completion(kit.a).wr_id, static_cast<std::uint64_t>(i));
    }
    receiver.join();
    EXPECT_EQ(received, kMessages);
    for (const End* end : {&c, &d}) {
      EXPECT_EQ(ibv_destroy_qp(end->qp), 0);
      EXPECT_EQ(ibv_dereg_mr(end->mr), 0);
    }
  });
}

TEST(Shards, AnSrqServesQpsOfSeveralShards) {
  in_process([] {
    constexpr std::uint64_t kMessages = 200;
    Kit kit;
    ibv_srq_init_attr init{};
    init.attr = {.max_wr = 16, .max_sge = 1, .srq_limit = 0};
    ibv_srq* const srq = ibv_create_srq(kit.pd, &init);
    ASSERT_NE(srq, nullptr);
    std::array<End, 4> ends;  // 0 and 1 send to 2 and 3
    for (std::size_t i = 0; i < ends.size(); ++i) {
      ends[i].cq = i % 2 == 0 ? kit.a.cq : kit.b.cq;
      ASSERT_NO_FATAL_FAILURE(kit.add(ends[i], ends[i].cq, ends[i].cq, i >= 2 ? srq : nullptr));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      kit.connect(ends[i], ends[i + 2]);
      kit.connect(ends[i + 2], ends[i]);
    }
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      End& from = ends[i % 2];
      End& to = ends[i % 2 + 2];
      from.memory[0] = i;
      ibv_sge into = to.sge(8);
      ibv_recv_wr wr{.wr_id = 1000 + i, .next = nullptr, .sg_list = &into, .num_sge = 1};
      ibv_recv_wr* bad{};
      ASSERT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
      ASSERT_EQ(Kit::send(from, IBV_WR_SEND, 8, to, i), 0);
      std::uint64_t seen = kit.good_completion(from).wr_id + kit.good_completion(to).wr_id;
      EXPECT_EQ(seen, 1000 + 2 * i);
      EXPECT_EQ(to.memory[0], i);
    }
    for (const End& end : ends) {
      EXPECT_EQ(ibv_destroy_qp(end.qp), 0);
      EXPECT_EQ(ibv_dereg_mr(end.mr), 0);
    }
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
  });
}

// Threads that send, each in its shard, while another creates and destroys shared objects.
TEST(Shards, RunInParallel) {
  in_process([] {
    constexpr std::uint64_t kRounds = 300;
    std::vector<std::unique_ptr<Kit>> kits;
    for (int i = 0; i < 4; ++i) kits.push_back(std::make_unique<Kit>());
    std::atomic<bool> over{};
    std::atomic<int> finished{};
    std::vector<std::thread> threads;
    for (const auto& kit : kits) {
      threads.emplace_back([&kit, &finished] {
        for (std::uint64_t i = 1; i <= kRounds; ++i) {
          std::ranges::fill(kit->a.memory, i);
          if (Kit::send(kit->a, IBV_WR_RDMA_WRITE, 4096, kit->b) != 0) return;
          kit->good_completion(kit->a);
          if (kit->b.memory != kit->a.memory) return;
        }
        ++finished;
      });
    }
    std::thread churn{[&] {
      std::vector<std::byte> memory(1 << 16);
      while (!over) {
        ibv_mr* const mr = ibv_reg_mr(kits[0]->pd, memory.data(), memory.size(), kAllAccess);
        ibv_cq* const cq = ibv_create_cq(kits[0]->context, 16, nullptr, nullptr, 0);
        End end;
        end.cq = cq;
        ibv_qp* const qp = kits[0]->make_qp(end);
        EXPECT_EQ(ibv_destroy_qp(qp), 0);
        EXPECT_EQ(ibv_destroy_cq(cq), 0);
        EXPECT_EQ(ibv_dereg_mr(mr), 0);
      }
    }};
    for (std::thread& thread : threads) thread.join();
    over = true;
    churn.join();
    EXPECT_EQ(finished, 4);
  });
}

// When ibv_dereg_mr returns, no shard writes to the memory any more.
TEST(Shards, DeregistrationTakesEffectInAllShards) {
  in_process([] {
    for (int round = 0; round < 20; ++round) {
      Kit kit;
      std::ranges::fill(kit.a.memory, 0x11);
      std::atomic<bool> running{};
      ibv_wc_status ended{};
      std::thread writer{[&] {
        do {
          if (Kit::send(kit.a, IBV_WR_RDMA_WRITE, 64, kit.b) != 0) return;
          ended = kit.completion(kit.a).status;
          running = true;
        } while (ended == IBV_WC_SUCCESS);
      }};
      while (!running) std::this_thread::yield();
      EXPECT_EQ(ibv_dereg_mr(kit.b.mr), 0);
      std::ranges::fill(kit.b.memory, 0x22);
      writer.join();
      EXPECT_EQ(ended, IBV_WC_REM_ACCESS_ERR);
      EXPECT_TRUE(std::ranges::all_of(kit.b.memory, [](auto word) { return word == 0x22; }));
      kit.b.mr = nullptr;
    }
  });
}

TEST(Shards, WindowsAreBoundInOneShardAndUsedFromAnother) {
  in_process([] {
    Kit kit;
    ibv_mw* const window = ibv_alloc_mw(kit.pd, IBV_MW_TYPE_1);
    ASSERT_NE(window, nullptr);
    ibv_mw_bind bind{};
    bind.send_flags = IBV_SEND_SIGNALED;
    bind.bind_info = {.mr = kit.b.mr,
                      .addr = kit.b.at(),
                      .length = 64,
                      .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    ASSERT_EQ(ibv_bind_mw(kit.b.qp, window, &bind), 0);
    kit.good_completion(kit.b);
    kit.a.memory[0] = 77;
    ibv_sge sge = kit.a.sge(8);
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = kit.b.at(), .rkey = window->rkey};
    ibv_send_wr* bad{};
    ASSERT_EQ(ibv_post_send(kit.a.qp, &wr, &bad), 0);
    kit.good_completion(kit.a);
    EXPECT_EQ(kit.b.memory[0], 77U);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
  });
}

TEST(Shards, EventsOfSeveralShardsReachOneChannel) {
  in_process([] {
    Kit kit;
    ibv_comp_channel* const channel = ibv_create_comp_channel(kit.context);
    ASSERT_NE(channel, nullptr);
    std::array<End, 2> ends;
    for (End& end : ends) {
      end.cq = ibv_create_cq(kit.context, 16, nullptr, channel, 0);
      ASSERT_NE(end.cq, nullptr);
      end.qp = kit.make_qp(end);
      ASSERT_NE(end.qp, nullptr);
      end.mr = ibv_reg_mr(kit.pd, end.memory.data(), sizeof end.memory, kAllAccess);
      ASSERT_EQ(ibv_req_notify_cq(end.cq, 0), 0);
    }
    EXPECT_NE(shard_of(ends[0].qp), shard_of(ends[1].qp));
    kit.connect(ends[0], ends[1]);
    kit.connect(ends[1], ends[0]);
    ibv_sge into = ends[1].sge(8);
    ASSERT_EQ(kit.post_recv(ends[1], 1, &into, 1), 0);
    ASSERT_EQ(Kit::send(ends[0], IBV_WR_SEND, 8, ends[1]), 0);
    std::array<bool, 2> told{};
    for (int i = 0; i < 2; ++i) {
      ibv_cq* cq{};
      void* of{};
      ASSERT_EQ(ibv_get_cq_event(channel, &cq, &of), 0);
      ibv_ack_cq_events(cq, 1);
      told[cq == ends[0].cq ? 0 : 1] = true;
    }
    EXPECT_TRUE(told[0] && told[1]);
    for (const End& end : ends) {
      EXPECT_EQ(ibv_destroy_qp(end.qp), 0);
      EXPECT_EQ(ibv_destroy_cq(end.cq), 0);
      EXPECT_EQ(ibv_dereg_mr(end.mr), 0);
    }
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  });
}

// A thread that polls CQs of two shards and sleeps in between misses no completion.
TEST(Shards, PollingSeveralShardsMissesNoCompletion) {
  in_process("sleep", [] {
    Kit kit;
    for (std::uint64_t i = 0; i < 200; ++i) {
      ibv_sge into = kit.b.sge(8);
      ASSERT_EQ(kit.post_recv(kit.b, i, &into, 1), 0);
      ASSERT_EQ(Kit::send(kit.a, IBV_WR_SEND, 8, kit.b, i), 0);
      for (int left = 2; left > 0;) {
        for (ibv_cq* cq : {kit.a.cq, kit.b.cq}) {
          ibv_wc wc{};
          const int found = ibv_poll_cq(cq, 1, &wc);
          ASSERT_GE(found, 0);
          if (found > 0) {
            ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
          }
          left -= found;
        }
      }
    }
  });
}

}  // namespace
}  // namespace verbs_test
