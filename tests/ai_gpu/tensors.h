// Tensors of GPU and host memory for the tests of the tensor library, and ranks that have the
// stand-in driver.
#pragma once

#include <memory>
#include <string>

#include "tests/ai/ranks.h"
#include "tests/gpu/gpu.h"

namespace ai_gpu_test {

using ai_test::Group;
using gpu_test::Buffer;

struct Case {
  const char* name;
  const char* transport;  // of the group
  const char* path;       // of Nerve
  bool copier;
};
inline constexpr Case kCases[] = {{"Shm", "rdma", "shm", true},
                                  {"ShmInProcess", "rdma", "shm", false},
                                  {"Udp", "rdma", "udp", true},
                                  {"Tcp", "tcp", "shm", false}};

enum class Where : unsigned char { kHost, kGpu, kOtherGpu };

class Tensor {
 public:
  Tensor(Where where, std::size_t bytes) : bytes_{bytes} {
    if (where == Where::kHost) {
      host_.resize(bytes);
    } else {
      gpu_ = std::make_unique<gpu_test::Memory>(bytes, where == Where::kGpu ? 0 : 1);
    }
  }
  Tensor(Where where, const Buffer& contents) : Tensor(where, contents.size()) { fill(contents); }

  [[nodiscard]] void* data() { return gpu_ ? gpu_->pointer() : static_cast<void*>(host_.data()); }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  void fill(const Buffer& contents) {
    if (gpu_) return gpu_->fill(contents);
    host_ = contents;
  }
  [[nodiscard]] Buffer contents() const { return gpu_ ? gpu_->contents() : host_; }
  [[nodiscard]] gpu_test::Memory& gpu() { return *gpu_; }

 private:
  std::size_t bytes_;
  Buffer host_;
  std::unique_ptr<gpu_test::Memory> gpu_;
};

// Different for every rank and call.
inline Buffer bytes_of(int rank, std::size_t bytes, std::size_t call = 0) {
  return gpu_test::pattern(bytes, static_cast<std::uint64_t>(rank + 1) * 1009 + call);
}

// Runs the ranks of one group, each with the stand-in driver and a kernel that runs all the time:
// what uses the default stream would wait for it forever. What went wrong, or an empty text.
std::string run_gpu_ranks(const Case& how, int ranks, const ai_test::Work& work);

}  // namespace ai_gpu_test
