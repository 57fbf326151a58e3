// Goal: RDMA from and to GPU memory. Memory is compared at once after a completion: one that is
// reported before the bytes have landed fails the test.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>

#include "tests/gpu/gpu.h"
#include "tests/verbs/pair.h"

namespace gpu_test {
namespace {

using verbs_test::End;
using verbs_test::kAllAccess;

constexpr std::size_t kLargest = std::size_t{4} << 20U;
constexpr std::size_t kSizes[] = {1, 7, 1024, 4097, 65'536, 300'001, kLargest};

enum class Where : unsigned char { kHost, kGpu, kOtherGpu };

// Registered memory of either kind.
class Place {
 public:
  Place(ibv_pd* pd, Where where, std::size_t size = kLargest) {
    if (where == Where::kHost) {
      host_.resize(size);
    } else {
      gpu_ = std::make_unique<Memory>(size, where == Where::kGpu ? 0 : 1);
    }
    address_ = gpu_ ? gpu_->address() : reinterpret_cast<std::uint64_t>(host_.data());
    mr = ibv_reg_mr(pd, reinterpret_cast<void*>(address_), size, kAllAccess);
    EXPECT_NE(mr, nullptr);
  }
  ~Place() { EXPECT_EQ(ibv_dereg_mr(mr), 0); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // Also after the memory was freed.
  [[nodiscard]] std::uint64_t address() const { return address_; }
  void fill(const Buffer& bytes) {
    if (gpu_) return gpu_->fill(bytes);
    std::ranges::copy(bytes, host_.begin());
  }
  [[nodiscard]] Buffer contents(std::size_t length) const {
    if (gpu_) return gpu_->contents(0, length);
    return {host_.begin(), host_.begin() + static_cast<std::ptrdiff_t>(length)};
  }
  [[nodiscard]] ibv_sge sge(std::size_t length) const {
    return {.addr = address(), .length = static_cast<std::uint32_t>(length), .lkey = mr->lkey};
  }
  [[nodiscard]] Memory& gpu() const { return *gpu_; }

  ibv_mr* mr{};

 private:
  Buffer host_;
  std::unique_ptr<Memory> gpu_;
  std::uint64_t address_{};
};

class GpuPair : public verbs_test::Pair {
 protected:
  // A process has one transport for its life; ctest runs each test in a process of its own.
  void use_transport(const std::string& transport, bool copier = false) {
    const std::string wanted = transport + (copier ? " with the copier" : "");
    static const std::string used = wanted;
    if (used != wanted) GTEST_SKIP() << "this process uses " << used;
    ::setenv("NERVE_TRANSPORT", transport.c_str(), 1);
    use_copier(copier);
    ASSERT_EQ(cuInit(0), kSuccess);
    fake_cuda_reset();
    fake_cuda_set_delay_us(50, 150);
    a.path_mtu = b.path_mtu = IBV_MTU_4096;
    a.timeout = b.timeout = 18;  // a copy passes through several threads, and CPUs may be busy
    Pair::SetUp();
  }
  void TearDown() override {
    if (IsSkipped()) return;
    Pair::TearDown();
    EXPECT_EQ(fake_cuda_counts().default_stream_copies, 0U);
    fake_cuda_reset();
  }

  void post(End& end, ibv_wr_opcode opcode, const Place& local, const Place& remote,
            std::size_t length) {
    ibv_sge sge = local.sge(length);
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.imm_data = 0x01020304;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = remote.address(), .rkey = remote.mr->rkey};
    ibv_send_wr* bad{};
    ASSERT_EQ(ibv_post_send(end.qp, &wr, &bad), 0);
  }
  void receive_into(End& end, const Place& place, std::size_t length) {
    ibv_sge sge = place.sge(length);
    ASSERT_EQ(post_recv(end, 1, &sge, 1), 0);
  }
};

using Case = std::tuple<const char*, Where, Where, bool>;

class GpuRdma : public GpuPair, public ::testing::WithParamInterface<Case> {
 protected:
  void SetUp() override { use_transport(std::get<0>(GetParam()), std::get<3>(GetParam())); }
  [[nodiscard]] static Where here() { return std::get<1>(GetParam()); }
  [[nodiscard]] static Where there() { return std::get<2>(GetParam()); }
};

TEST_P(GpuRdma, WriteHasLandedWhenItCompletes) {
  Place from{pd, here()};
  const Place to{pd, there()};
  for (const std::size_t size : kSizes) {
    const Buffer bytes = pattern(size, size);
    from.fill(bytes);
    post(a, IBV_WR_RDMA_WRITE, from, to, size);
    good_completion(a);
    ASSERT_EQ(to.contents(size), bytes) << size;
  }
}

TEST_P(GpuRdma, WriteWithImmediateHasLandedWhenItIsReceived) {
  Place from{pd, here()};
  const Place to{pd, there()};
  for (const std::size_t size : kSizes) {
    const Buffer bytes = pattern(size, size + 1);
    from.fill(bytes);
    receive_into(b, to, 0);
    post(a, IBV_WR_RDMA_WRITE_WITH_IMM, from, to, size);
    const ibv_wc received = good_completion(b);
    ASSERT_EQ(to.contents(size), bytes) << size;
    EXPECT_EQ(received.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    EXPECT_EQ(received.byte_len, size);
    good_completion(a);
  }
}

TEST_P(GpuRdma, ReadHasLandedWhenItCompletes) {
  const Place into{pd, here()};
  Place from{pd, there()};
  for (const std::size_t size : kSizes) {
    const Buffer bytes = pattern(size, size + 2);
    from.fill(bytes);
    post(a, IBV_WR_RDMA_READ, into, from, size);
    good_completion(a);
    ASSERT_EQ(into.contents(size), bytes) << size;
  }
}

TEST_P(GpuRdma, SendHasLandedWhenItIsReceived) {
  Place from{pd, here()};
  const Place to{pd, there()};
  for (const std::size_t size : kSizes) {
    const Buffer bytes = pattern(size, size + 3);
    from.fill(bytes);
    receive_into(b, to, size);
    post(a, IBV_WR_SEND, from, to, size);
    const ibv_wc received = good_completion(b);
    ASSERT_EQ(to.contents(size), bytes) << size;
    EXPECT_EQ(received.byte_len, size);
    good_completion(a);
  }
}

TEST_P(GpuRdma, AReadReturnsTheWriteBeforeIt) {
  Place from{pd, here()};
  const Place to{pd, there()};
  const Place back{pd, here()};
  for (std::uint64_t i = 0; i < 10; ++i) {
    const Buffer bytes = pattern(100'000, i);
    from.fill(bytes);
    post(a, IBV_WR_RDMA_WRITE, from, to, bytes.size());
    post(a, IBV_WR_RDMA_READ, back, to, bytes.size());
    good_completion(a);
    good_completion(a);
    ASSERT_EQ(back.contents(bytes.size()), bytes);
  }
}

TEST_P(GpuRdma, QueuesOfMessagesKeepTheirOrder) {
  std::vector<std::unique_ptr<Place>> from;
  std::vector<std::unique_ptr<Place>> to;
  constexpr std::size_t kMessages = 8;
  constexpr std::size_t kLength = 50'000;
  for (std::size_t i = 0; i < kMessages; ++i) {
    from.push_back(std::make_unique<Place>(pd, here(), kLength));
    to.push_back(std::make_unique<Place>(pd, there(), kLength));
    from.back()->fill(pattern(kLength, i));
    receive_into(b, *to.back(), kLength);
  }
  for (std::size_t i = 0; i < kMessages; ++i) post(a, IBV_WR_SEND, *from[i], *to[i], kLength);
  for (std::size_t i = 0; i < kMessages; ++i) {
    good_completion(b);
    ASSERT_EQ(to[i]->contents(kLength), pattern(kLength, i));
  }
  for (std::size_t i = 0; i < kMessages; ++i) good_completion(a);
}

INSTANTIATE_TEST_SUITE_P(Both, GpuRdma,
                         ::testing::Combine(::testing::Values("shm", "udp"),
                                            ::testing::Values(Where::kHost, Where::kGpu),
                                            ::testing::Values(Where::kHost, Where::kGpu,
                                                              Where::kOtherGpu),
                                            ::testing::Bool()));

class GpuRdmaOver : public GpuPair, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { use_transport(GetParam()); }
};

TEST_P(GpuRdmaOver, AtomicsChangeGpuMemory) {
  Place result{pd, Where::kHost, 8};
  Place words{pd, Where::kGpu, 4096};
  ibv_sge sge = result.sge(8);
  for (std::uint64_t i = 0; i < 5; ++i) {
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.atomic = {
        .remote_addr = words.address() + 8, .compare_add = 3, .swap = 0, .rkey = words.mr->rkey};
    ibv_send_wr* bad{};
    ASSERT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
    good_completion(a);
    std::uint64_t before{};
    std::uint64_t now{};
    std::memcpy(&before, result.contents(8).data(), 8);
    std::memcpy(&now, words.gpu().contents(8, 8).data(), 8);
    EXPECT_EQ(before, 3 * i);
    EXPECT_EQ(now, 3 * (i + 1));
  }
}

TEST_P(GpuRdmaOver, SeveralQpsShareTheStagingArea) {
  constexpr std::size_t kPairs = 6;
  constexpr std::size_t kLength = 600'000;
  std::vector<std::unique_ptr<End>> ends;
  std::vector<std::unique_ptr<Place>> places;
  for (std::size_t i = 0; i < 2 * kPairs; ++i) {
    ends.push_back(std::make_unique<End>());
    ends.back()->path_mtu = IBV_MTU_4096;
    ends.back()->cq = make_cq(16);
    ends.back()->qp = make_qp(*ends.back());
    places.push_back(std::make_unique<Place>(pd, Where::kGpu, kLength));
  }
  for (std::size_t i = 0; i < kPairs; ++i) {
    psn += 0x1000;
    connect(*ends[2 * i], *ends[2 * i + 1]);
    connect(*ends[2 * i + 1], *ends[2 * i]);
    places[2 * i]->fill(pattern(kLength, i));
    post(*ends[2 * i], IBV_WR_RDMA_WRITE, *places[2 * i], *places[2 * i + 1], kLength);
  }
  for (std::size_t i = 0; i < kPairs; ++i) {
    good_completion(*ends[2 * i]);
    EXPECT_EQ(places[2 * i + 1]->contents(kLength), pattern(kLength, i));
  }
  for (const auto& end : ends) {
    EXPECT_EQ(ibv_destroy_qp(end->qp), 0);
    EXPECT_EQ(ibv_destroy_cq(end->cq), 0);
  }
}

TEST_P(GpuRdmaOver, NothingWaitsForARunningKernel) {
  Place from{pd, Where::kGpu};
  const Place to{pd, Where::kGpu};
  const Buffer bytes = pattern(100'000, 1);
  from.fill(bytes);
  fake_cuda_begin_kernel();
  post(a, IBV_WR_RDMA_WRITE, from, to, bytes.size());
  good_completion(a);
  fake_cuda_end_kernel();
  EXPECT_EQ(to.contents(bytes.size()), bytes);
}

TEST_P(GpuRdmaOver, FreedMemoryToSendFromIsAnError) {
  Place from{pd, Where::kGpu};
  const Place to{pd, Where::kHost};
  from.gpu().free();
  post(a, IBV_WR_RDMA_WRITE, from, to, 100'000);
  EXPECT_NE(completion(a).status, IBV_WC_SUCCESS);
  post(a, IBV_WR_RDMA_WRITE, from, to, 8);
  EXPECT_EQ(completion(a).status, IBV_WC_WR_FLUSH_ERR);
}

TEST_P(GpuRdmaOver, FreedMemoryToWriteToIsAnError) {
  const Place from{pd, Where::kHost};
  const Place to{pd, Where::kGpu};
  to.gpu().free();
  post(a, IBV_WR_RDMA_WRITE, from, to, 100'000);
  EXPECT_NE(completion(a).status, IBV_WC_SUCCESS);
}

TEST_P(GpuRdmaOver, FreedMemoryToReadFromIsAnError) {
  const Place into{pd, Where::kHost};
  const Place from{pd, Where::kGpu};
  from.gpu().free();
  post(a, IBV_WR_RDMA_READ, into, from, 100'000);
  EXPECT_NE(completion(a).status, IBV_WC_SUCCESS);
}

TEST_P(GpuRdmaOver, MemoryUnmappedInFlightIsAnError) {
  Place from{pd, Where::kGpu};
  const Place to{pd, Where::kGpu};
  fake_cuda_hold_copies();
  post(a, IBV_WR_RDMA_WRITE, from, to, 1 << 20);
  ibv_wc none{};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ibv_poll_cq(a.cq, 1, &none), 0);
  fake_cuda_unmap(from.gpu().let_go());
  fake_cuda_let_copies_end();
  EXPECT_NE(completion(a).status, IBV_WC_SUCCESS);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
}

// PyTorch copies loss.item() so: a thread waits inside of CUDA for the bytes that RDMA brings.
class GpuRdmaByCopier : public GpuPair, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { use_transport(GetParam(), true); }
};

TEST_P(GpuRdmaByCopier, NothingWaitsForAThreadInsideOfCuda) {
  Place from{pd, Where::kGpu};
  const Place to{pd, Where::kGpu};
  const Buffer bytes = pattern(300'000, 1);
  from.fill(bytes);
  fake_cuda_block_calls();
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    post(a, opcode, from, to, bytes.size());
    good_completion(a);
  }
  fake_cuda_let_calls_go_on();
  EXPECT_EQ(to.contents(bytes.size()), bytes);
}

INSTANTIATE_TEST_SUITE_P(Both, GpuRdmaByCopier, ::testing::Values("shm", "udp"));

INSTANTIATE_TEST_SUITE_P(Both, GpuRdmaOver, ::testing::Values("shm", "udp"));

}  // namespace
}  // namespace gpu_test
