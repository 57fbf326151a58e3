#include "host/gpu/cuda_copies.h"

#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>

#include "host/runtime/clock.h"

namespace nerve::host {
namespace {

using cuda::CurrentContext;
using cuda::Status;
using Kind = GpuCopies::Kind;

constexpr Duration kLongestEnd = std::chrono::seconds{5};
constexpr std::size_t kWordsSize = 4096;
static_assert(kWordsSize >= kGpuSlots * sizeof(std::uint32_t));

}  // namespace

// Words that the GPU may still write are leaked, like their registration.
CudaCopies::~CudaCopies() {
  if (words_ != nullptr && words_at_ == 0) (void)::munmap(words_, kWordsSize);
}

std::uint32_t CudaCopies::word(Slot slot) const {
  return std::atomic_ref{words_[slot]}.load(std::memory_order_acquire);
}

Status CudaCopies::make_words() {
  if (driver_.stream_write_value == nullptr || driver_.mem_host_get_device_pointer == nullptr) {
    return Status::kNotSupported;
  }
  void* const mapped =
      ::mmap(nullptr, kWordsSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return Status::kOutOfMemory;
  (void)::madvise(mapped, kWordsSize, MADV_DONTFORK);
  words_ = static_cast<std::uint32_t*>(mapped);
  const Status status = driver_.mem_host_register(
      mapped, kWordsSize, cuda::kHostRegisterPortable | cuda::kHostRegisterMapped);
  if (status != Status::kSuccess) return status;
  return driver_.mem_host_get_device_pointer(&words_at_, mapped, 0);
}

// Tries it once: not every configuration of a driver can do it.
bool CudaCopies::words_work() {
  if (make_words() != Status::kSuccess) return false;
  const Time limit = now() + kLongestEnd;
  if (driver_.stream_write_value(writes_, words_at_, 1, 0) != Status::kSuccess) return false;
  while (word(0) != 1) {
    if (now() > limit) return false;
    ::sched_yield();
  }
  expected_[0] = 1;
  return true;
}

Status CudaCopies::prepare(std::byte* staging) {
  staging_ = staging;
  Status status = driver_.mem_host_register(staging, kGpuStagingSize, cuda::kHostRegisterPortable);
  if (status != Status::kSuccess) return status;
  registered_ = true;
  for (cuda::Stream* stream : {&fetches_, &writes_}) {
    status = driver_.stream_create(stream, cuda::kStreamNonBlocking);
    if (status != Status::kSuccess) return status;
  }
  for (cuda::Event& event : events_) {
    status = driver_.event_create(&event, cuda::kEventDisableTiming);
    if (status != Status::kSuccess) return status;
  }
  if (!words_work()) {
    if (words_at_ != 0) (void)driver_.mem_host_unregister(words_);
    words_at_ = 0;
  }
  return Status::kSuccess;
}

bool CudaCopies::drain(cuda::Stream stream) {
  const cuda::Event event = events_.back();
  if (stream == nullptr || event == nullptr) return true;
  if (driver_.event_record(event, stream) != Status::kSuccess) return false;
  const Time limit = now() + kLongestEnd;
  Status reached = driver_.event_query(event);
  while (reached == Status::kNotReady && now() < limit) {
    ::sched_yield();
    reached = driver_.event_query(event);
  }
  return reached == Status::kSuccess;
}

bool CudaCopies::end() {
  if (!registered_) return true;
  for (const cuda::Stream stream : {fetches_, writes_}) {
    if (!drain(stream)) return false;
  }
  for (const cuda::Event event : events_) {
    if (event != nullptr) (void)driver_.event_destroy(event);
  }
  for (const cuda::Stream stream : {fetches_, writes_}) {
    if (stream != nullptr) (void)driver_.stream_destroy(stream);
  }
  if (words_at_ != 0) (void)driver_.mem_host_unregister(words_);
  words_at_ = 0;
  return driver_.mem_host_unregister(staging_) == Status::kSuccess;
}

Status CudaCopies::copy(const GpuCopies::Copy& copy, cuda::Stream stream) {
  switch (copy.kind) {
    case Kind::kFetch:
    case Kind::kReadBack:
      return driver_.memcpy_dtoh_async(staging_ + copy.other, copy.gpu, copy.length, stream);
    case Kind::kWrite:
      return driver_.memcpy_htod_async(copy.gpu, staging_ + copy.other, copy.length, stream);
    case Kind::kSend:
      return driver_.memcpy_dtod_async(copy.other, copy.gpu, copy.length, stream);
    case Kind::kTake:
      return driver_.memcpy_dtod_async(copy.gpu, copy.other, copy.length, stream);
  }
  return Status::kInvalidValue;
}

Status CudaCopies::begin(const GpuCopies::Copy& wanted) {
  const cuda::Stream stream = wanted.kind == Kind::kFetch ? fetches_ : writes_;
  Status status = Status::kSuccess;
  if (wanted.after) {
    status = driver_.stream_wait_event(stream, events_[*wanted.after], 0);
  }
  if (status == Status::kSuccess) status = copy(wanted, stream);
  if (status != Status::kSuccess) return status;
  // Fetches may wait for these.
  const bool writes = wanted.kind == Kind::kWrite || wanted.kind == Kind::kTake;
  if (writes || words_at_ == 0) status = driver_.event_record(events_[wanted.done], stream);
  if (status == Status::kSuccess && words_at_ != 0) {
    status = driver_.stream_write_value(stream, words_at_ + wanted.done * sizeof(std::uint32_t),
                                        ++expected_[wanted.done], 0);
  }
  // Without its event, the end of a copy that has begun is never known.
  return status == Status::kSuccess || cuda::ends_context(status) ? status : Status::kUnknown;
}

Status CudaCopies::query(Slot slot) {
  if (words_at_ == 0) return driver_.event_query(events_[slot]);
  if (word(slot) == expected_[slot]) return Status::kSuccess;
  // A copy that fails writes no word.
  constexpr unsigned kAskEvery = 4096;
  if (++questions_ % kAskEvery != 0) return Status::kNotReady;
  for (const cuda::Stream stream : {fetches_, writes_}) {
    const Status status = driver_.stream_query(stream);
    if (status != Status::kSuccess && status != Status::kNotReady) return status;
  }
  return Status::kNotReady;
}

std::unique_ptr<GpuStaging> OwnCopies::make_staging(const cuda::Driver& driver,
                                                    cuda::Context context, Status& why) {
  void* const mapped =
      ::mmap(nullptr, kGpuStagingSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    why = Status::kOutOfMemory;
    return nullptr;
  }
  // A fork would give this process copies of the pages, and leave the GPU with the old ones.
  (void)::madvise(mapped, kGpuStagingSize, MADV_DONTFORK);
  auto* const memory = static_cast<std::byte*>(mapped);
  std::unique_ptr<OwnCopies> made{new OwnCopies{driver, context, memory}};
  const CurrentContext current{driver, context};
  why = current.status();
  if (why == Status::kSuccess) why = made->copies_.prepare(memory);
  if (why != Status::kSuccess) return nullptr;
  return std::make_unique<GpuStaging>(std::move(made), memory);
}

// Memory that a copy may still use is leaked rather than unmapped.
OwnCopies::~OwnCopies() {
  if (dead()) return;
  const CurrentContext current{copies_.driver(), copies_.context()};
  if (current.status() != Status::kSuccess || !copies_.end()) return;
  (void)::munmap(staging_, kGpuStagingSize);
}

bool OwnCopies::begin(const Copy& copy) {
  const CurrentContext current{copies_.driver(), copies_.context()};
  Status status = current.status();
  if (status == Status::kSuccess) status = copies_.begin(copy);
  if (status == Status::kSuccess) return true;
  const std::string why = cuda::describe(copies_.driver(), status);
  report_failure(copy, why.c_str());
  if (cuda::ends_context(status)) give_up(why.c_str());
  return false;
}

GpuCopies::Progress OwnCopies::progress(Slot slot) {
  const CurrentContext current{copies_.driver(), copies_.context()};
  Status status = current.status();
  if (status == Status::kSuccess) status = copies_.query(slot);
  if (status == Status::kSuccess) return Progress::kDone;
  if (status == Status::kNotReady) return Progress::kLater;
  // An event does not know which copy failed. The memory of a copy in an unknown state cannot be
  // used again.
  give_up(cuda::describe(copies_.driver(), status).c_str());
  return Progress::kFailed;
}

}  // namespace nerve::host
