// The state of the stand-in driver, shared by its files.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/gpu/fake_cuda/fake_cuda.h"

struct FakeContext {
  CUdevice device{};
  bool primary{};
  bool destroyed{};
  CUresult error{};  // of every call
};

struct FakeEvent {
  FakeContext* context{};
  uint64_t recorded{};  // how often
  uint64_t reached{};   // of these, by their stream
};

namespace fake_cuda {

constexpr CUresult kSuccess = 0;
constexpr CUresult kInvalidValue = 1;
constexpr CUresult kOutOfMemory = 2;
constexpr CUresult kNotInitialized = 3;
constexpr CUresult kInvalidDevice = 101;
constexpr CUresult kInvalidContext = 201;
constexpr CUresult kInvalidHandle = 400;
constexpr CUresult kNotReady = 600;
constexpr CUresult kIllegalAddress = 700;
constexpr CUresult kContextIsDestroyed = 709;
constexpr CUresult kHostMemoryAlreadyRegistered = 712;
constexpr CUresult kHostMemoryNotRegistered = 713;
constexpr CUresult kCaptureUnsupported = 900;

enum class Kind : unsigned char { kDevice, kPool, kManaged, kImported, kMapped };

struct Allocation {
  Kind kind{};
  size_t size{};      // as requested
  size_t mapped{};    // whole pages
  char* bytes{};      // where they really are
  int memory_fd{-1};  // of these bytes
  FakeContext* context{};
  CUdevice device{};
  uint64_t buffer{};
};

// Memory from cuMemCreate(), without an address.
struct Physical {
  int fd{-1};
  size_t size{};
  CUdevice device{};
  bool exportable{};
  unsigned uses{};
};

struct Operation {
  enum class What : unsigned char { kToHost, kToDevice, kAcross, kRecord, kWait, kWord } what{};
  void* host{};
  CUdeviceptr device{};
  CUdeviceptr from{};  // kAcross
  size_t length{};
  FakeEvent* event{};
  uint64_t count{};  // of the event's records
};

struct Injected {
  std::string function;
  CUresult result{};
  int count{};
};

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  int pid{};
  bool initialised{};
  std::vector<std::unique_ptr<FakeContext>> contexts;  // those of the devices first
  std::map<CUdeviceptr, Allocation> allocations;
  std::map<uint64_t, Physical> physical;
  std::map<CUdeviceptr, uint64_t> mapped;  // and what is mapped there
  uint64_t handles{};                      // of physical memory, so far
  uint64_t buffers{};                      // allocations so far
  CUdeviceptr last_freed{};
  std::map<uintptr_t, size_t> pinned;
  std::vector<FakeStream*> streams;
  std::vector<FakeEvent*> events;
  unsigned least_delay{};
  unsigned most_delay{20};
  uint64_t bandwidth{};
  uint64_t chance{1};
  bool held{};
  int kernels{};
  bool blocked{};
  bool capturing{};
  bool capture_valid{};
  CUresult fail_copy{};
  std::vector<Injected> injected;
  FakeCudaCounts counts{};
};

State& state();

// A call of the driver. Locks the state.
class Call {
 public:
  explicit Call(const char* function, bool needs_context = true);
  // Not zero: the call fails so.
  [[nodiscard]] CUresult result() const { return result_; }
  [[nodiscard]] FakeContext* context() const { return context_; }
  std::unique_lock<std::mutex>& lock() { return lock_; }
  // A call that is not allowed while another thread captures.
  [[nodiscard]] CUresult disturbs_capture();

 private:
  std::unique_lock<std::mutex> lock_;
  CUresult result_{};
  FakeContext* context_{};
};

// The allocation that contains the range; null if there is none.
Allocation* find(CUdeviceptr address, size_t length);
char* bytes_at(CUdeviceptr address, size_t length);
bool is_pinned(const void* memory, size_t length);
// Waits until no stream has a copy of this range.
void wait_for_copies(std::unique_lock<std::mutex>& lock, CUdeviceptr address, size_t length);
// Waits until no stream has anything to do.
void wait_for_streams(std::unique_lock<std::mutex>& lock);
void free_allocation(CUdeviceptr address);
size_t whole_pages(size_t size);
// Makes the bytes of a file GPU memory at this address, which the CPU cannot access; zero:
// anywhere. Returns the address, or zero on failure.
CUdeviceptr map(CUdeviceptr at, Kind kind, size_t size, int fd, FakeContext* context,
                CUdevice device);

}  // namespace fake_cuda
