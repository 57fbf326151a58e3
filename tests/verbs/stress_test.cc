// Goal: many threads at once on shared objects: posting threads with their own QPs, polling threads
// on one CQ for all sends and one for all receives, one SRQ for all QPs, and a thread that creates
// and destroys objects meanwhile. Every message arrives once and intact; the thread sanitizer finds
// nothing.
#include <atomic>
#include <thread>

#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

constexpr std::uint32_t kPosters = 3;
constexpr std::uint32_t kPollers = 2;
constexpr std::uint32_t kPairsEach = 2;
constexpr std::uint32_t kPairs = kPosters * kPairsEach;
constexpr std::uint32_t kMessages = 300;  // per QP
constexpr std::uint32_t kInFlight = 6;
constexpr std::uint32_t kReceives = 64;

struct Message {
  std::uint32_t pair{};
  std::uint32_t number{};
  std::uint64_t sum{};
};

std::uint64_t sum_of(std::uint32_t pair, std::uint32_t number) {
  return (std::uint64_t{pair} << 32U | number) * 0x9e37'79b9'7f4a'7c15U;
}

class Stress : public Pair {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(Device::SetUp());
    sends_ = ibv_create_cq(context, 1024, nullptr, nullptr, 0);
    receives_ = ibv_create_cq(context, 1024, nullptr, nullptr, 0);
    ibv_srq_init_attr init{};
    init.attr = {.max_wr = kReceives, .max_sge = 1, .srq_limit = 0};
    srq_ = ibv_create_srq(pd, &init);
    ASSERT_TRUE(sends_ != nullptr && receives_ != nullptr && srq_ != nullptr);
    mr_ = ibv_reg_mr(pd, &memory_, sizeof memory_, kAllAccess);
    ASSERT_NE(mr_, nullptr);
    for (std::uint32_t i = 0; i < kReceives; ++i) post_receive(i);
    for (std::uint32_t i = 0; i < kPairs; ++i) {
      psn = 0x100 * (i + 1);
      for (End* end : {&from_[i], &to_[i]}) end->qp = make_shared_qp();
      connect(from_[i], to_[i]);
      connect(to_[i], from_[i]);
    }
  }
  void TearDown() override {
    for (std::uint32_t i = 0; i < kPairs; ++i) {
      EXPECT_EQ(ibv_destroy_qp(from_[i].qp), 0);
      EXPECT_EQ(ibv_destroy_qp(to_[i].qp), 0);
    }
    EXPECT_EQ(ibv_dereg_mr(mr_), 0);
    EXPECT_EQ(ibv_destroy_srq(srq_), 0);
    EXPECT_EQ(ibv_destroy_cq(sends_), 0);
    EXPECT_EQ(ibv_destroy_cq(receives_), 0);
    Device::TearDown();
  }

  ibv_qp* make_shared_qp() {
    ibv_qp_init_attr attr{};
    attr.send_cq = sends_;
    attr.recv_cq = receives_;
    attr.srq = srq_;
    attr.cap = {.max_send_wr = 16,
                .max_recv_wr = 0,
                .max_send_sge = 1,
                .max_recv_sge = 0,
                .max_inline_data = 0};
    attr.qp_type = IBV_QPT_RC;
    attr.sq_sig_all = 1;
    return ibv_create_qp(pd, &attr);
  }

  void post_receive(std::uint32_t slot) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(&memory_.received[slot]), sizeof(Message),
                mr_->lkey};
    ibv_recv_wr wr{.wr_id = slot, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad{};
    EXPECT_EQ(ibv_post_srq_recv(srq_, &wr, &bad), 0);
  }

  void post(std::uint32_t poster) {
    for (std::uint32_t number = 0; number < kMessages; ++number) {
      for (std::uint32_t i = 0; i < kPairsEach; ++i) {
        const std::uint32_t pair = poster * kPairsEach + i;
        while (in_flight_[pair].load(std::memory_order_acquire) == kInFlight && !failed_) {
          std::this_thread::yield();
        }
        Message& message = memory_.sent[pair][number % kInFlight];
        message = {.pair = pair, .number = number, .sum = sum_of(pair, number)};
        in_flight_[pair].fetch_add(1);
        ibv_sge sge{reinterpret_cast<std::uint64_t>(&message), sizeof message, mr_->lkey};
        ibv_send_wr wr{};
        wr.wr_id = pair;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.opcode = IBV_WR_SEND;
        ibv_send_wr* bad{};
        if (ibv_post_send(from_[pair].qp, &wr, &bad) != 0) failed_ = true;
      }
    }
  }

  void take(const ibv_wc& wc) {
    if (wc.status != IBV_WC_SUCCESS) {
      failed_ = true;
      return;
    }
    if (wc.opcode != IBV_WC_RECV) {
      in_flight_[wc.wr_id].fetch_sub(1, std::memory_order_release);
      ++sent_;
      return;
    }
    const Message message = memory_.received[wc.wr_id];
    const bool whole = message.pair < kPairs && message.number < kMessages &&
                       message.sum == sum_of(message.pair, message.number);
    if (!whole || seen_[message.pair][message.number].exchange(true)) failed_ = true;
    post_receive(static_cast<std::uint32_t>(wc.wr_id));
    ++received_;
  }

  void poll() {
    std::array<ibv_wc, 4> got{};
    while ((sent_ < kPairs * kMessages || received_ < kPairs * kMessages) && !failed_) {
      for (ibv_cq* cq : {sends_, receives_}) {
        const int count = ibv_poll_cq(cq, static_cast<int>(got.size()), got.data());
        for (int i = 0; i < count; ++i) take(got[static_cast<std::size_t>(i)]);
      }
      std::this_thread::yield();
    }
  }

  void make_and_destroy() {
    std::array<std::byte, 4096> area{};
    while ((sent_ < kPairs * kMessages || received_ < kPairs * kMessages) && !failed_) {
      ibv_mr* mr = ibv_reg_mr(pd, area.data(), area.size(), kAllAccess);
      ibv_qp* qp = make_shared_qp();
      if (mr == nullptr || qp == nullptr || ibv_destroy_qp(qp) != 0 || ibv_dereg_mr(mr) != 0) {
        failed_ = true;
      }
    }
  }

  struct Memory {
    std::array<std::array<Message, kInFlight>, kPairs> sent{};
    std::array<Message, kReceives> received{};
  };
  Memory memory_;
  ibv_cq* sends_{};
  ibv_cq* receives_{};
  ibv_srq* srq_{};
  ibv_mr* mr_{};
  std::array<End, kPairs> from_, to_;
  std::array<std::atomic<std::uint32_t>, kPairs> in_flight_{};
  std::array<std::array<std::atomic<bool>, kMessages>, kPairs> seen_{};
  std::atomic<std::uint32_t> sent_{};
  std::atomic<std::uint32_t> received_{};
  std::atomic<bool> failed_{};
};

TEST_F(Stress, ThreadsQpsOneCqOneSrq) {
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kPosters; ++i) threads.emplace_back([this, i] { post(i); });
  for (std::uint32_t i = 0; i < kPollers; ++i) threads.emplace_back([this] { poll(); });
  threads.emplace_back([this] { make_and_destroy(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(failed_);
  EXPECT_EQ(sent_, kPairs * kMessages);
  EXPECT_EQ(received_, kPairs * kMessages);
}

}  // namespace
}  // namespace verbs_test
