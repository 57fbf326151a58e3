// Memory that calls of the library are made with: of the process, or of a GPU (CUDA). A NIC reads
// and writes both; the library's own code reads and writes GPU memory by copies on streams of its
// own, never on the default stream, which would wait for the program's kernels.
//
// Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ai/error.h"
#include "cuda/driver.h"

namespace nerve::ai {

// The memory of one CUDA context.
class Gpu {
 public:
  Gpu(const cuda::Driver& driver, cuda::Context context) : driver_{driver}, context_{context} {}
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  [[nodiscard]] cuda::Context context() const { return context_; }
  Status open();

  // Begin a copy. Reads end in the order in which they began, and so do writes.
  Status begin_read(std::byte* to, const std::byte* from, std::size_t length);
  Status begin_write(std::byte* to, const std::byte* from, std::size_t length);
  Status begin_copy(std::byte* to, const std::byte* from, std::size_t length);  // both on the GPU
  // Until all reads have ended; until all writes and copies have.
  Status finish_reads();
  Status finish_writes();

  // Makes copies from and to this memory of the process faster, if the driver agrees.
  void pin(void* memory, std::size_t length);
  void unpin(void* memory);
  // The number of the allocation at this address, which no other allocation has had; 0 if there is
  // none.
  [[nodiscard]] std::uint64_t allocation_at(const std::byte* address) const;

 private:
  template <class Call>
  Status call(const char* what, const std::byte* address, Call make) const;

  const cuda::Driver& driver_;
  cuda::Context context_;
  cuda::Stream reads_{};
  cuda::Stream writes_{};
  // The GPU addresses of the last copies, for errors that are noticed at their end.
  const std::byte* last_read_{};
  const std::byte* last_write_{};
};

struct Memory {
  std::byte* data{};
  Gpu* gpu{};                  // null: memory of the process
  std::uint64_t allocation{};  // on the GPU

  [[nodiscard]] Memory at(std::size_t offset) const { return {data + offset, gpu, allocation}; }
};

// Memory of the process, without a question to CUDA.
inline Memory host_memory(const std::byte* data) { return {const_cast<std::byte*>(data)}; }

// Copies, and waits for the end. The ranges may be the same, but not overlap in any other way.
Status copy(const Memory& to, const Memory& from, std::size_t length);
// The same without waiting; one of them is memory of the process, and stays as it is until
// finish_reads() or finish_writes() of the other's GPU.
Status begin_copy(const Memory& to, const Memory& from, std::size_t length);

// Until everything has ended that was begun on this stream (a CUstream) of the program, in the
// context of the memory at this address.
Status finish_stream(const void* address, std::uint64_t stream);

// The GPUs whose memory was used so far.
class Gpus {
 public:
  // What this address is. Errors: the range exceeds its allocation on the GPU; it is memory of
  // neither a GPU nor the process, probably because it was freed; CUDA failed.
  Result<Memory, Error> locate(const void* address, std::size_t length);

 private:
  Result<Gpu*, Error> find_or_open(const cuda::Driver& driver, cuda::Context context);

  std::vector<std::unique_ptr<Gpu>> gpus_;
};

}  // namespace nerve::ai
