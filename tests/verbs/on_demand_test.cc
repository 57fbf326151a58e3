// Goal: an access to unmapped pages of an on-demand region is an error of the request. It does not
// end the process.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

class OnDemandMemory : public Pair {
 protected:
  void SetUp() override {
    Pair::SetUp();
    page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    // Far from other mappings: the next one of a page would fill the hole.
    void* const apart = reinterpret_cast<void*>(std::uintptr_t{8} << 30U);
    memory = static_cast<std::byte*>(
        ::mmap(apart, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    mr = ibv_reg_mr(pd, memory, 3 * page, kAllAccess | IBV_ACCESS_ON_DEMAND);
    ASSERT_NE(mr, nullptr);
    ASSERT_EQ(::munmap(memory + page, page), 0);
    ASSERT_EQ(::mprotect(memory + 2 * page, page, PROT_READ), 0);
  }
  void TearDown() override {
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    EXPECT_EQ(::munmap(memory, page), 0);
    EXPECT_EQ(::munmap(memory + 2 * page, page), 0);
    Pair::TearDown();
  }

  [[nodiscard]] std::uint64_t at(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t>(memory + offset);
  }
  // A request from `a` with `length` bytes of its own memory; the status it completes with.
  ibv_wc_status remote(ibv_wr_opcode opcode, std::size_t offset, std::uint32_t length) {
    return run({.addr = a.at(), .length = length, .lkey = a.mr->lkey}, opcode, at(offset),
               mr->rkey);
  }
  ibv_wc_status run(ibv_sge local, ibv_wr_opcode opcode, std::uint64_t to, std::uint32_t rkey) {
    ibv_send_wr wr{};
    wr.sg_list = &local;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = to, .rkey = rkey};
    ibv_send_wr* bad{};
    EXPECT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
    return completion(a).status;
  }

  std::size_t page{};
  std::byte* memory{};
  ibv_mr* mr{};
};

TEST_F(OnDemandMemory, MappedPagesAreWritten) {
  a.memory[0] = 0x1234;
  EXPECT_EQ(remote(IBV_WR_RDMA_WRITE, page - 8, 8), IBV_WC_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(memory + page - 8), 0x1234U);
  EXPECT_EQ(remote(IBV_WR_RDMA_READ, 2 * page, 4096), IBV_WC_SUCCESS);
}

TEST_F(OnDemandMemory, WriteToAnUnmappedPageIsARemoteAccessError) {
  EXPECT_EQ(remote(IBV_WR_RDMA_WRITE, page, 8), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(OnDemandMemory, WriteIntoAnUnmappedPageIsARemoteAccessError) {
  EXPECT_EQ(remote(IBV_WR_RDMA_WRITE, page - 1024, 4096), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(OnDemandMemory, ReadOfAnUnmappedPageIsARemoteAccessError) {
  EXPECT_EQ(remote(IBV_WR_RDMA_READ, page, 8), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(OnDemandMemory, WriteToAReadOnlyPageIsARemoteAccessError) {
  const bool populates = ::madvise(memory, page, MADV_POPULATE_WRITE) == 0;
  if (!populates || ::madvise(memory + 2 * page, page, MADV_POPULATE_WRITE) == 0) {
    GTEST_SKIP() << "this kernel cannot check the right to write";
  }
  EXPECT_EQ(remote(IBV_WR_RDMA_WRITE, 2 * page, 8), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(OnDemandMemory, SendFromAnUnmappedPageIsALocalProtectionError) {
  EXPECT_EQ(
      run({.addr = at(page), .length = 8, .lkey = mr->lkey}, IBV_WR_RDMA_WRITE, b.at(), b.mr->rkey),
      IBV_WC_LOC_PROT_ERR);
}

}  // namespace
}  // namespace verbs_test
