// GPU memory for tests, from the stand-in driver.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/gpu/fake_cuda/fake_cuda.h"

namespace gpu_test {

// What CUDA returns.
inline constexpr CUresult kSuccess = 0;
inline constexpr CUresult kInvalidValue = 1;
inline constexpr CUresult kOutOfMemory = 2;
inline constexpr CUresult kIllegalAddress = 700;

inline constexpr int kBufferId = 7;  // a pointer attribute

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = kKiB * kKiB;

using Buffer = std::vector<std::byte>;

// Bytes that differ from those of other seeds, and at every place.
inline Buffer pattern(std::size_t length, std::uint64_t seed) {
  Buffer bytes(length);
  std::uint64_t word = seed * 0x9e3779b97f4a7c15U + 1;
  for (std::byte& byte : bytes) {
    word ^= word << 13U;
    word ^= word >> 7U;
    word ^= word << 17U;
    byte = static_cast<std::byte>(word >> 32U);
  }
  return bytes;
}

// Between two questions to the GPU.
inline void rest() { std::this_thread::sleep_for(std::chrono::microseconds{10}); }

// Memory of a GPU, zeroed.
class Memory {
 public:
  explicit Memory(std::size_t size, int device = 0) : size_{size} {
    CUcontext context{};
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, device), kSuccess);
    EXPECT_EQ(cuCtxPushCurrent_v2(context), kSuccess);
    EXPECT_EQ(cuMemAlloc_v2(&address_, size), kSuccess);
    EXPECT_EQ(cuPointerGetAttribute(&buffer_, kBufferId, address_), kSuccess);
    EXPECT_EQ(cuCtxPopCurrent_v2(&context), kSuccess);
  }
  ~Memory() { free(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void free() {
    if (address_ != 0) {
      EXPECT_EQ(cuMemFree_v2(address_), kSuccess);
    }
    address_ = 0;
  }
  // Freed by other means.
  CUdeviceptr let_go() { return std::exchange(address_, 0); }

  [[nodiscard]] std::uint64_t address() const { return address_; }
  [[nodiscard]] void* pointer() const { return reinterpret_cast<void*>(address_); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::uint64_t buffer() const { return buffer_; }

  void fill(const Buffer& bytes, std::size_t offset = 0) const {
    EXPECT_TRUE(fake_cuda_poke(address_ + offset, bytes.data(), bytes.size()));
  }
  [[nodiscard]] Buffer contents(std::size_t offset, std::size_t length) const {
    Buffer bytes(length);
    EXPECT_TRUE(fake_cuda_peek(bytes.data(), address_ + offset, length));
    return bytes;
  }
  [[nodiscard]] Buffer contents() const { return contents(0, size_); }

 private:
  CUdeviceptr address_{};
  std::size_t size_;
  std::uint64_t buffer_{};
};

// Who makes the copies of this process: the copier, or the process itself. To be called before the
// library is used. The copier is this test's own, and has the stand-in driver as well.
inline void use_copier(bool on) {
  ::setenv("NERVE_GPU_COPIER", on ? "on" : "off", 1);
  ::setenv("_NERVE_GPU_COPIER_NAME", std::to_string(::getpid()).c_str(), 1);
  ::setenv("FAKE_CUDA_DELAY_US", "50,150", 1);
  Dl_info driver{};
  ASSERT_NE(::dladdr(reinterpret_cast<const void*>(&fake_cuda_reset), &driver), 0);
  const std::string file{driver.dli_fname};
  ::setenv("LD_LIBRARY_PATH", file.substr(0, file.rfind('/')).c_str(), 1);
}

// A test with the stand-in driver in its first state.
class Cuda : public ::testing::Test {
 protected:
  Cuda() {  // before the members of tests, which may be GPU memory
    EXPECT_EQ(cuInit(0), kSuccess);
    fake_cuda_reset();
  }
  void TearDown() override {
    EXPECT_EQ(fake_cuda_counts().default_stream_copies, 0U);
    EXPECT_EQ(fake_cuda_counts().unpinned_copies, 0U);
    fake_cuda_reset();
  }
};

}  // namespace gpu_test
