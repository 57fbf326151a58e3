// Copies by the CUDA driver of this process, in one context, which the caller has made current.
//
// Behind each copy the GPU writes a word, which tells that the copy has ended. A question costs no
// call: threads that ask an event again and again keep each other from beginning copies. Where the
// driver cannot do it, events are asked.
//
// Streams are non-blocking: a copy on the legacy default stream would wait for every kernel of the
// program, and NCCL's kernels run until the data arrives that this copy brings.
#pragma once

#include <array>
#include <cstddef>

#include "cuda/driver.h"
#include "host/gpu/gpu_copies.h"
#include "host/gpu/gpu_staging.h"

namespace nerve::host {

class CudaCopies {
 public:
  using Slot = GpuCopies::Slot;

  CudaCopies(const cuda::Driver& driver, cuda::Context context)
      : driver_{driver}, context_{context} {}
  ~CudaCopies();
  CudaCopies(const CudaCopies&) = delete;
  CudaCopies& operator=(const CudaCopies&) = delete;

  [[nodiscard]] const cuda::Driver& driver() const { return driver_; }
  [[nodiscard]] cuda::Context context() const { return context_; }

  // Must succeed before the first copy; `staging` has kGpuStagingSize bytes.
  [[nodiscard]] cuda::Status prepare(std::byte* staging);
  // Waits for all copies. False if the GPU may still use the staging memory.
  [[nodiscard]] bool end();

  [[nodiscard]] cuda::Status begin(const GpuCopies::Copy& copy);
  // kNotReady while it goes on.
  [[nodiscard]] cuda::Status query(Slot slot);

 private:
  [[nodiscard]] cuda::Status make_words();
  [[nodiscard]] bool words_work();
  [[nodiscard]] std::uint32_t word(Slot slot) const;
  [[nodiscard]] cuda::Status copy(const GpuCopies::Copy& copy, cuda::Stream stream);
  [[nodiscard]] bool drain(cuda::Stream stream);

  const cuda::Driver& driver_;
  const cuda::Context context_;
  std::byte* staging_{};
  bool registered_{};
  cuda::Stream fetches_{};
  cuda::Stream writes_{};
  std::array<cuda::Event, kGpuSlots> events_{};

  // One word for each slot.
  std::uint32_t* words_{};
  cuda::Address words_at_{};  // for the GPU; zero: events are asked
  std::array<std::uint32_t, kGpuSlots> expected_{};
  unsigned questions_{};
};

// The same, for the process that registers the memory.
class OwnCopies final : public GpuCopies {
 public:
  // Null, with the reason, if the context has no room or is gone.
  [[nodiscard]] static std::unique_ptr<GpuStaging> make_staging(const cuda::Driver& driver,
                                                                cuda::Context context,
                                                                cuda::Status& why);
  ~OwnCopies() override;
  OwnCopies(const OwnCopies&) = delete;
  OwnCopies& operator=(const OwnCopies&) = delete;

  [[nodiscard]] bool begin(const Copy& copy) override;
  [[nodiscard]] Progress progress(Slot slot) override;

 private:
  OwnCopies(const cuda::Driver& driver, cuda::Context context, std::byte* staging)
      : copies_{driver, context}, staging_{staging} {}

  CudaCopies copies_;
  std::byte* const staging_;
};

}  // namespace nerve::host
