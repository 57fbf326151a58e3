// Goal: programs register GPU memory like host memory, and get an errno for memory that cannot be
// registered.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/gpu/gpu.h"
#include "tests/verbs/pair.h"

namespace gpu_test {
namespace {

using verbs_test::kAllAccess;

class GpuRegistration : public verbs_test::Device {
 protected:
  GpuRegistration() {
    EXPECT_EQ(cuInit(0), kSuccess);
    fake_cuda_reset();
  }
  void SetUp() override {
    use_copier(false);
    Device::SetUp();
    file = ::memfd_create("in place of a dma-buf", MFD_CLOEXEC);
  }
  void TearDown() override {
    ::close(file);
    fake_cuda_reset();
    Device::TearDown();
  }
  ibv_mr* reg(const Memory& memory) {
    return ibv_reg_mr(pd, memory.pointer(), memory.size(), kAllAccess);
  }
  void expect_refused(const ibv_mr* mr, int error) {
    EXPECT_EQ(mr, nullptr);
    EXPECT_EQ(errno, error);
    errno = 0;
  }

  int file{-1};
};

TEST_F(GpuRegistration, GpuMemoryIsAccepted) {
  const Memory memory{100'000};
  ibv_mr* mr = reg(memory);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, memory.pointer());
  EXPECT_EQ(mr->length, memory.size());
  EXPECT_NE(mr->lkey, 0U);
  ibv_mr* again = ibv_reg_mr_iova(pd, memory.pointer(), memory.size(), 0x1000, kAllAccess);
  ASSERT_NE(again, nullptr);
  EXPECT_NE(again->rkey, mr->rkey);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dereg_mr(again), 0);
}

TEST_F(GpuRegistration, MemoryOfAPoolIsAccepted) {
  const CUdeviceptr address = fake_cuda_alloc_pool(0, 1 << 20);
  ibv_mr* mr = ibv_reg_mr(pd, reinterpret_cast<void*>(address), 1 << 20, kAllAccess);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(cuMemFree_v2(address), kSuccess);
}

TEST_F(GpuRegistration, ManagedMemoryIsHostMemory) {
  void* managed = fake_cuda_alloc_managed(4096);
  const auto before = fake_cuda_counts();
  ibv_mr* mr = ibv_reg_mr(pd, managed, 4096, kAllAccess | IBV_ACCESS_ON_DEMAND);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(fake_cuda_counts().streams, before.streams);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(cuMemFree_v2(reinterpret_cast<CUdeviceptr>(managed)), kSuccess);
}

TEST_F(GpuRegistration, ARangeBeyondTheAllocationIsAFault) {
  const Memory memory{100'000};
  expect_refused(ibv_reg_mr(pd, memory.pointer(), 200'000, kAllAccess), EFAULT);
}

TEST_F(GpuRegistration, FreedMemoryIsAFault) {
  Memory memory{100'000};
  void* const pointer = memory.pointer();
  memory.free();
  expect_refused(ibv_reg_mr(pd, pointer, 100'000, kAllAccess), EFAULT);
}

TEST_F(GpuRegistration, AddressesThatNothingMayAccessAreAFault) {
  void* const reserved = ::mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);
  expect_refused(ibv_reg_mr(pd, reserved, 8192, kAllAccess), EFAULT);
  EXPECT_EQ(::munmap(reserved, 8192), 0);
}

TEST_F(GpuRegistration, HostMemoryIsAcceptedInAProcessWithCuda) {
  Buffer host(100'000);
  ibv_mr* mr = ibv_reg_mr(pd, host.data(), host.size(), kAllAccess);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  mr = ibv_reg_mr(pd, nullptr, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE);
  if (mr != nullptr) {
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
  }
}

TEST_F(GpuRegistration, GpuMemoryHasNoOnDemandPaging) {
  const Memory memory{4096};
  expect_refused(ibv_reg_mr(pd, memory.pointer(), memory.size(), kAllAccess | IBV_ACCESS_ON_DEMAND),
                 EOPNOTSUPP);
}

TEST_F(GpuRegistration, ADeviceThatIsGoneIsAnIoError) {
  const Memory memory{4096};
  fake_cuda_fail_next("cuPointerGetAttributes", 4, 1);
  expect_refused(reg(memory), EIO);
}

TEST_F(GpuRegistration, ADmabufIsRegisteredByItsAddress) {
  const Memory memory{100'000};
  const std::size_t pages = 102'400;  // rounded up, as NCCL does
  ibv_mr* mr = ibv_reg_dmabuf_mr(pd, 0, pages, memory.address(), file, kAllAccess);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->length, pages);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  mr = ibv_reg_dmabuf_mr(pd, 4096, 8192, memory.address() + 4096, file, kAllAccess);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(GpuRegistration, OtherDmabufsAreRefused) {
  const Memory memory{4096};
  Buffer host(4096);
  // The probe of NCCL, which must be let in (--gpu-direct).
  expect_refused(ibv_reg_dmabuf_mr(pd, 0, 4096, memory.address(), -1, kAllAccess), EOPNOTSUPP);
  expect_refused(ibv_reg_dmabuf_mr(pd, 0, 4096, memory.address(), 10'000, kAllAccess), EBADF);
  expect_refused(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, file, kAllAccess), EOPNOTSUPP);
  expect_refused(ibv_reg_dmabuf_mr(pd, 0, host.size(), reinterpret_cast<std::uint64_t>(host.data()),
                                   file, kAllAccess),
                 EOPNOTSUPP);
  expect_refused(ibv_reg_dmabuf_mr(pd, 0, 1 << 20, memory.address(), file, kAllAccess), EFAULT);
}

TEST_F(GpuRegistration, ARegionMovesBetweenHostAndGpu) {
  const Memory memory{100'000};
  Buffer host(4096);
  ibv_mr* mr = ibv_reg_mr(pd, host.data(), host.size(), kAllAccess);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory.pointer(),
                         memory.size(), 0),
            0);
  EXPECT_EQ(mr->length, memory.size());
  EXPECT_EQ(
      ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE), 0);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND),
            IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(
      ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory.pointer(), 200'000, 0),
      IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(mr->length, memory.size());
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, host.data(), host.size(), 0),
            0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(GpuRegistration, ClosingADeviceEndsItsRegistrations) {
  const Memory memory{4096};
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ibv_context* other = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  ASSERT_NE(other, nullptr);
  ibv_pd* left = ibv_alloc_pd(other);
  ASSERT_NE(ibv_reg_mr(left, memory.pointer(), memory.size(), kAllAccess), nullptr);
  EXPECT_EQ(ibv_close_device(other), 0);
}

}  // namespace
}  // namespace gpu_test
