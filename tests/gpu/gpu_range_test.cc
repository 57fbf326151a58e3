// Goal: GPU memory is told from host memory, whatever made it.
#include "host/gpu/gpu_range.h"

#include <unistd.h>

#include "tests/gpu/gpu.h"

namespace gpu_test {
namespace {

using nerve::host::find_gpu_memory;
using nerve::host::GpuFinding;
using nerve::host::GpuLookup;

class GpuRangeTest : public Cuda {
 protected:
  static GpuLookup find(std::uint64_t address, std::uint64_t length) {
    const auto* driver = nerve::cuda::loaded_driver();
    EXPECT_NE(driver, nullptr);
    return find_gpu_memory(*driver, address, length);
  }
  static GpuLookup find(const void* pointer, std::uint64_t length) {
    return find(reinterpret_cast<std::uint64_t>(pointer), length);
  }
};

TEST_F(GpuRangeTest, AnAllocationIsFoundWithItsDevice) {
  const Memory memory{100'000, 1};
  const GpuLookup found = find(memory.address() + 10, 1000);
  EXPECT_EQ(found.finding, GpuFinding::kGpu);
  EXPECT_EQ(found.range.base, memory.address());
  EXPECT_EQ(found.range.size, memory.size());
  EXPECT_EQ(found.range.device, 1);
}

TEST_F(GpuRangeTest, ARangeMayEndWithTheLastPage) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const Memory memory{page + 1};
  EXPECT_EQ(find(memory.address(), page + 1).finding, GpuFinding::kGpu);
  EXPECT_EQ(find(memory.address(), 2 * page).finding, GpuFinding::kGpu);
  EXPECT_EQ(find(memory.address() + 1, 2 * page).finding, GpuFinding::kCrosses);
  EXPECT_EQ(find(memory.address(), 2 * page + 1).finding, GpuFinding::kCrosses);
  EXPECT_EQ(find(memory.address(), ~std::uint64_t{0}).finding, GpuFinding::kCrosses);
}

TEST_F(GpuRangeTest, HostMemoryIsNotGpuMemory) {
  Buffer ordinary(100);
  EXPECT_EQ(find(ordinary.data(), ordinary.size()).finding, GpuFinding::kNotGpu);
  void* managed = fake_cuda_alloc_managed(4096);
  EXPECT_EQ(find(managed, 4096).finding, GpuFinding::kNotGpu);
  EXPECT_EQ(cuMemFree_v2(reinterpret_cast<CUdeviceptr>(managed)), kSuccess);
  EXPECT_EQ(find(std::uint64_t{0}, 4096).finding, GpuFinding::kNotGpu);

  CUcontext context{};
  void* pinned{};
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), kSuccess);
  ASSERT_EQ(cuCtxPushCurrent_v2(context), kSuccess);
  ASSERT_EQ(cuMemHostAlloc(&pinned, 4096, 0), kSuccess);
  EXPECT_EQ(find(pinned, 4096).finding, GpuFinding::kNotGpu);
  EXPECT_EQ(cuMemFreeHost(pinned), kSuccess);
  ASSERT_EQ(cuCtxPopCurrent_v2(&context), kSuccess);
}

TEST_F(GpuRangeTest, FreedMemoryIsNotGpuMemory) {
  Memory memory{4096};
  const std::uint64_t address = memory.address();
  memory.free();
  EXPECT_EQ(find(address, 4096).finding, GpuFinding::kNotGpu);
}

TEST_F(GpuRangeTest, MemoryOfAPoolUsesThePrimaryContext) {
  const CUdeviceptr address = fake_cuda_alloc_pool(1, 8192);
  CUcontext primary{};
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 1), kSuccess);
  const GpuLookup found = find(address, 8192);
  EXPECT_EQ(found.finding, GpuFinding::kGpu);
  EXPECT_EQ(reinterpret_cast<void*>(found.range.context), reinterpret_cast<void*>(primary));
  EXPECT_EQ(cuMemFree_v2(address), kSuccess);
}

TEST_F(GpuRangeTest, ADriverThatFailsIsReported) {
  const Memory memory{4096};
  fake_cuda_fail_next("cuPointerGetAttributes", 4, 1);
  EXPECT_EQ(find(memory.address(), 4096).finding, GpuFinding::kFailed);
}

}  // namespace
}  // namespace gpu_test
