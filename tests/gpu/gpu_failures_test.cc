// Goal: GPU memory that disappears is a failure of what uses it, and never ends the process.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "host/gpu/gpu_memory.h"
#include "tests/gpu/gpu.h"

namespace gpu_test {
namespace {

using nerve::host::GpuFinding;
using nerve::host::GpuMemory;
using Progress = nerve::LateMemory::Progress;

constexpr CUresult kDeinitialized = 4;

class GpuFailures : public Cuda {
 protected:
  void SetUp() override {
    ASSERT_EQ(gpu.add(memory.address(), memory.size()).finding, GpuFinding::kGpu);
  }
  Progress fetch(std::uint64_t address, std::uint32_t length = 4096) {
    ++message;
    for (;;) {
      gpu.release(this);
      const auto fetched = gpu.fetch(
          {.address = address, .length = length, .follow = 0, .engine = this, .message = message});
      if (fetched.progress != Progress::kLater) return fetched.progress;
      rest();
    }
  }
  Progress write(std::uint64_t address) {
    gpu.write(address, pattern(4096, address));
    const auto ticket = gpu.written();
    for (;;) {
      const Progress reached = gpu.landed(ticket - 1, ticket);
      if (reached != Progress::kLater) return reached;
      rest();
    }
  }

  Memory memory{1 << 20};
  GpuMemory gpu;
  std::uint64_t message{};
};

TEST_F(GpuFailures, FreedMemoryFailsAlone) {
  const Memory good{1 << 20};
  ASSERT_EQ(gpu.add(good.address(), good.size()).finding, GpuFinding::kGpu);
  const std::uint64_t address = memory.address();
  memory.free();
  EXPECT_EQ(fetch(address), Progress::kFailed);
  EXPECT_EQ(write(address), Progress::kFailed);
  const auto failed = gpu.written();
  EXPECT_EQ(fetch(good.address()), Progress::kDone);
  EXPECT_EQ(write(good.address()), Progress::kDone);
  EXPECT_EQ(good.contents(0, 4096), pattern(4096, good.address()));
  EXPECT_EQ(gpu.landed(failed - 1, failed), Progress::kFailed);  // still
  EXPECT_EQ(gpu.fetch_add(address, 1), 0U);
  EXPECT_EQ(gpu.landed(0, gpu.written()), Progress::kFailed);
}

TEST_F(GpuFailures, FreeingWaitsForACopyUnderWay) {
  fake_cuda_set_delay_us(300, 600);
  gpu.write(memory.address(), pattern(4096, 1));
  EXPECT_EQ(gpu.landed(0, 1), Progress::kLater);
  memory.free();
  while (gpu.landed(0, 1) == Progress::kLater) rest();
  EXPECT_EQ(gpu.landed(0, 1), Progress::kDone);
}

TEST_F(GpuFailures, MemoryUnmappedDuringACopyFails) {
  const std::uint64_t address = memory.address();
  fake_cuda_hold_copies();
  gpu.write(address, pattern(4096, 1));
  EXPECT_EQ(gpu.landed(0, 1), Progress::kLater);
  EXPECT_EQ(gpu.fetch({.address = address, .length = 8, .follow = 0, .engine = this, .message = 9})
                .progress,
            Progress::kLater);
  fake_cuda_unmap(memory.let_go());
  fake_cuda_let_copies_end();
  while (gpu.landed(0, 1) == Progress::kLater) rest();
  EXPECT_EQ(gpu.landed(0, 1), Progress::kFailed);
  EXPECT_EQ(fetch(address), Progress::kFailed);
}

TEST_F(GpuFailures, ACopyThatFailsLateDoesNotLand) {
  fake_cuda_fail_copy(kIllegalAddress);
  EXPECT_EQ(write(memory.address()), Progress::kFailed);
  EXPECT_EQ(fetch(memory.address()), Progress::kFailed);  // an illegal address ends the context
}

TEST_F(GpuFailures, AnotherGpuContinues) {
  const Memory other{4096, 1};
  ASSERT_EQ(gpu.add(other.address(), other.size()).finding, GpuFinding::kGpu);
  fake_cuda_fail_copy(kIllegalAddress);
  EXPECT_EQ(write(memory.address()), Progress::kFailed);
  EXPECT_EQ(write(other.address()), Progress::kDone);
  EXPECT_EQ(other.contents(), pattern(4096, other.address()));
  EXPECT_EQ(fetch(other.address()), Progress::kDone);
}

TEST_F(GpuFailures, ACopyThatCannotBeginFails) {
  fake_cuda_fail_next("cuMemcpyDtoHAsync_v2", kOutOfMemory, 1);
  EXPECT_EQ(fetch(memory.address()), Progress::kFailed);
  EXPECT_EQ(fetch(memory.address()), Progress::kDone);
  fake_cuda_fail_next("cuMemcpyHtoDAsync_v2", kOutOfMemory, 1);
  EXPECT_EQ(write(memory.address()), Progress::kFailed);
  EXPECT_EQ(write(memory.address()), Progress::kDone);
}

TEST_F(GpuFailures, AtExitOfTheProcessEverythingFails) {
  fake_cuda_fail_next("cuCtxPushCurrent_v2", kDeinitialized, 1'000'000);
  EXPECT_EQ(fetch(memory.address()), Progress::kFailed);
  EXPECT_EQ(write(memory.address()), Progress::kFailed);
  gpu.remove(memory.address(), memory.size(), memory.buffer());
}

TEST_F(GpuFailures, ADestroyedContextFailsAndANewOneWorks) {
  CUcontext context{};
  CUcontext popped{};
  CUdeviceptr address{};
  ASSERT_EQ(cuCtxCreate_v2(&context, 0, 0), kSuccess);
  ASSERT_EQ(cuMemAlloc_v2(&address, 4096), kSuccess);
  ASSERT_EQ(cuCtxPopCurrent_v2(&popped), kSuccess);
  ASSERT_EQ(gpu.add(address, 4096).finding, GpuFinding::kGpu);
  ASSERT_EQ(write(address), Progress::kDone);
  ASSERT_EQ(cuCtxDestroy_v2(context), kSuccess);
  EXPECT_EQ(fetch(address), Progress::kFailed);
  EXPECT_EQ(write(address), Progress::kFailed);
  EXPECT_EQ(write(memory.address()), Progress::kDone);
}

TEST_F(GpuFailures, AContextThatWorksAgainGetsANewStagingArea) {
  fake_cuda_fail_copy(kIllegalAddress);
  EXPECT_EQ(write(memory.address()), Progress::kFailed);
  fake_cuda_reset();
  EXPECT_EQ(write(memory.address()), Progress::kFailed);  // the old one stays as it is
  ASSERT_EQ(gpu.add(memory.address(), memory.size()).finding, GpuFinding::kGpu);
  EXPECT_EQ(write(memory.address()), Progress::kDone);
}

TEST_F(GpuFailures, WithoutPinnedMemoryNothingIsRegistered) {
  GpuMemory poor;
  fake_cuda_fail_next("cuMemHostRegister_v2", kOutOfMemory, 1);
  const auto refused = poor.add(memory.address(), memory.size());
  EXPECT_EQ(refused.finding, GpuFinding::kFailed);
  EXPECT_EQ(static_cast<CUresult>(refused.status), kOutOfMemory);
  fake_cuda_fail_next("cuEventCreate", kOutOfMemory, 1);
  EXPECT_EQ(poor.add(memory.address(), memory.size()).finding, GpuFinding::kFailed);
  EXPECT_EQ(poor.add(memory.address(), memory.size()).finding, GpuFinding::kGpu);
}

TEST_F(GpuFailures, AForkedChildCallsNothing) {
  ASSERT_EQ(write(memory.address()), Progress::kDone);
  const pid_t child = ::fork();
  if (child == 0) {
    gpu.leave_to_parent();
    gpu.write(memory.address(), pattern(8, 1));
    bool right = gpu.landed(0, gpu.written()) == Progress::kFailed;
    right = right && fetch(memory.address()) == Progress::kFailed;
    right = right && gpu.fetch_add(memory.address(), 1) == 0;
    gpu.release(this);
    gpu.remove(memory.address(), memory.size(), memory.buffer());
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(write(memory.address()), Progress::kDone);
  EXPECT_EQ(fetch(memory.address()), Progress::kDone);
}

}  // namespace
}  // namespace gpu_test
