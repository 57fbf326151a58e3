#include "host/gpu/gpu_staging.h"

#include <sched.h>
#include <sys/mman.h>

#include <chrono>
#include <cinttypes>

#include "host/diagnostics/log.h"
#include "host/runtime/clock.h"

namespace nerve::host {
namespace {

using cuda::CurrentContext;
using cuda::Status;
using Progress = LateMemory::Progress;

constexpr std::size_t kWindowsSize = kGpuWindows * kGpuWindowSize;
constexpr std::size_t kStagingSize = kWindowsSize + kGpuRingSize + kGpuWordsSize;
// A copy takes microseconds, and milliseconds on a GPU that other processes share.
constexpr Duration kLongestCopy = std::chrono::seconds{5};
constexpr unsigned kFailuresLogged = 8;

}  // namespace

std::unique_ptr<GpuStaging> GpuStaging::make(const cuda::Driver& driver, cuda::Context context,
                                             Status& why) {
  std::unique_ptr<GpuStaging> made{new GpuStaging{driver, context}};
  why = made->prepare();
  if (why != Status::kSuccess) made.reset();
  return made;
}

Status GpuStaging::prepare() {
  void* const mapped =
      ::mmap(nullptr, kStagingSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return Status::kOutOfMemory;
  memory_ = static_cast<std::byte*>(mapped);
  // A fork would give this process copies of the pages, and leave the GPU with the old ones.
  (void)::madvise(memory_, kStagingSize, MADV_DONTFORK);
  const CurrentContext current{driver_, context_};
  Status status = current.status();
  if (status != Status::kSuccess) return status;
  status = driver_.mem_host_register(memory_, kStagingSize, cuda::kHostRegisterPortable);
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
  return Status::kSuccess;
}

// Memory that a copy may still use is leaked rather than unmapped.
GpuStaging::~GpuStaging() {
  if (dead_) return;
  if (!registered_) {
    if (memory_ != nullptr) (void)::munmap(memory_, kStagingSize);
    return;
  }
  for (const cuda::Stream stream : {fetches_, writes_}) {
    if (stream == nullptr || word_event() == nullptr) continue;
    Status recorded{};
    {
      const CurrentContext current{driver_, context_};
      recorded = current.status();
      if (recorded == Status::kSuccess) recorded = driver_.event_record(word_event(), stream);
    }
    if (recorded != Status::kSuccess || !wait(word_event())) return;
  }
  {
    const CurrentContext current{driver_, context_};
    if (current.status() != Status::kSuccess) return;
    for (const cuda::Event event : events_) {
      if (event != nullptr) (void)driver_.event_destroy(event);
    }
    for (const cuda::Stream stream : {fetches_, writes_}) {
      if (stream != nullptr) (void)driver_.stream_destroy(stream);
    }
    if (driver_.mem_host_unregister(memory_) != Status::kSuccess) return;
  }
  (void)::munmap(memory_, kStagingSize);
}

void GpuStaging::give_up(const char* why) {
  if (dead_) return;
  dead_ = true;
  log(LogLevel::kError, "gpu memory: %s; all regions of this CUDA context fail from now on", why);
}

std::byte* GpuStaging::window(std::size_t index) const { return memory_ + index * kGpuWindowSize; }
std::span<std::byte> GpuStaging::ring() const { return {memory_ + kWindowsSize, kGpuRingSize}; }
std::span<std::byte> GpuStaging::words() const {
  return {memory_ + kWindowsSize + kGpuRingSize, kGpuWordsSize};
}

bool GpuStaging::begun(Status status, const char* what, std::uint64_t address, std::size_t length) {
  if (status == Status::kSuccess) return true;
  if (failures_logged_++ < kFailuresLogged) {
    log(LogLevel::kWarn,
        "gpu memory: %s of %zu bytes at 0x%" PRIx64
        " failed: %s; was the memory freed while it was registered?",
        what, length, address, cuda::describe(driver_, status).c_str());
  }
  if (cuda::ends_context(status)) give_up(cuda::describe(driver_, status).c_str());
  return false;
}

// Without its event, the end of a copy that has begun is never known.
bool GpuStaging::record(cuda::Event done, cuda::Stream stream) {
  const Status status = driver_.event_record(done, stream);
  if (status != Status::kSuccess) give_up(cuda::describe(driver_, status).c_str());
  return status == Status::kSuccess;
}

bool GpuStaging::fetch(std::byte* to, std::uint64_t from, std::size_t length, cuda::Event done,
                       cuda::Event after) {
  if (dead_) return false;
  const CurrentContext current{driver_, context_};
  Status status = current.status();
  if (status == Status::kSuccess && after != nullptr) {
    status = driver_.stream_wait_event(fetches_, after, 0);
  }
  if (status == Status::kSuccess) status = driver_.memcpy_dtoh_async(to, from, length, fetches_);
  return begun(status, "a read", from, length) && record(done, fetches_);
}

bool GpuStaging::write(std::uint64_t to, const std::byte* from, std::size_t length,
                       cuda::Event done) {
  if (dead_) return false;
  const CurrentContext current{driver_, context_};
  Status status = current.status();
  if (status == Status::kSuccess) status = driver_.memcpy_htod_async(to, from, length, writes_);
  return begun(status, "a write", to, length) && record(done, writes_);
}

bool GpuStaging::read_now(std::byte* to, std::uint64_t from, std::size_t length) {
  if (dead_) return false;
  {
    const CurrentContext current{driver_, context_};
    Status status = current.status();
    if (status == Status::kSuccess) status = driver_.memcpy_dtoh_async(to, from, length, writes_);
    if (!begun(status, "a read", from, length) || !record(word_event(), writes_)) return false;
  }
  return wait(word_event());
}

bool GpuStaging::write_now(std::uint64_t to, const std::byte* from, std::size_t length) {
  return write(to, from, length, word_event()) && wait(word_event());
}

Progress GpuStaging::progress(cuda::Event event) {
  if (dead_) return Progress::kFailed;
  Status status{};
  {
    const CurrentContext current{driver_, context_};
    status = current.status();
    if (status == Status::kSuccess) status = driver_.event_query(event);
  }
  if (status == Status::kSuccess) return Progress::kDone;
  if (status == Status::kNotReady) return Progress::kLater;
  // An event does not know which copy failed. The memory of a copy in an unknown state cannot be
  // used again.
  give_up(cuda::describe(driver_, status).c_str());
  return Progress::kFailed;
}

bool GpuStaging::wait(cuda::Event event) {
  const Time limit = now() + kLongestCopy;
  for (;;) {
    const Progress reached = progress(event);
    if (reached != Progress::kLater) return reached == Progress::kDone;
    if (now() > limit) {
      give_up("a copy has not ended after 5 seconds");
      return false;
    }
    ::sched_yield();
  }
}

}  // namespace nerve::host
