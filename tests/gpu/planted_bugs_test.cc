// Goal: the comparisons of the tests of GPU memory notice its typical bugs.
#include <gtest/gtest.h>

#include <memory>

#include "base/planted.h"
#include "host/gpu/gpu_memory.h"
#include "tests/gpu/gpu.h"

nerve::Bug nerve::active_bug = nerve::Bug::kNone;

namespace gpu_test {
namespace {

using nerve::host::GpuFinding;
using nerve::host::GpuMemory;
using Progress = nerve::LateMemory::Progress;

void begin() {
  use_copier(true);
  ASSERT_EQ(cuInit(0), kSuccess);
}

// Writes by RDMA, and compares at once.
bool arrives(GpuMemory& gpu, const Memory& memory, std::uint64_t seed) {
  const Buffer bytes = pattern(memory.size(), seed);
  gpu.write(memory.address(), bytes);
  const auto ticket = gpu.written();
  while (gpu.landed(ticket - 1, ticket) == Progress::kLater) rest();
  return memory.contents() == bytes;
}

bool right_after_it_was_allocated_again() {
  GpuMemory gpu{NERVE_GPU_COPIER_FILE};
  auto memory = std::make_unique<Memory>(64 * kKiB);
  const std::uint64_t address = memory->address();
  EXPECT_EQ(gpu.add(address, memory->size()).finding, GpuFinding::kGpu);
  EXPECT_TRUE(arrives(gpu, *memory, 1));
  memory.reset();  // freed while it is registered
  memory = std::make_unique<Memory>(64 * kKiB);
  EXPECT_EQ(memory->address(), address);
  EXPECT_EQ(gpu.add(address, memory->size()).finding, GpuFinding::kGpu);
  return arrives(gpu, *memory, 2);
}

TEST(GpuPlanted, MemoryThatIsUsedAfterItWasFreedIsNoticed) {
  begin();
  nerve::active_bug = nerve::Bug::kUsesFreedImport;
  EXPECT_FALSE(right_after_it_was_allocated_again());
  nerve::active_bug = nerve::Bug::kNone;
  EXPECT_TRUE(right_after_it_was_allocated_again());
}

bool all_arrive(const char* copier) {
  GpuMemory gpu{copier};
  const Memory memory{64 * kKiB};
  EXPECT_EQ(gpu.add(memory.address(), memory.size()).finding, GpuFinding::kGpu);
  bool all = true;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) all = arrives(gpu, memory, seed) && all;
  return all;
}

TEST(GpuPlanted, ACopyThatIsReportedTooEarlyIsNoticed) {
  begin();
  EXPECT_TRUE(all_arrive(NERVE_GPU_COPIER_FILE));
  ::setenv("_NERVE_GPU_COPIER_NAME", ("planted." + std::to_string(::getpid())).c_str(), 1);
  ::setenv("FAKE_CUDA_DELAY_US", "5000,5000", 1);
  EXPECT_FALSE(all_arrive(NERVE_PLANTED_COPIER_FILE));
}

}  // namespace
}  // namespace gpu_test
