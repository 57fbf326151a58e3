// Streams, events and copies. Each stream has a thread, which carries out its operations in order.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/gpu/fake_cuda/fake_state.h"

struct FakeStream {
  FakeContext* context{};
  bool blocking{};
  bool ending{};
  std::deque<fake_cuda::Operation> queue;  // an operation leaves it at its end
};

namespace fake_cuda {
namespace {

using What = Operation::What;
using Lock = std::unique_lock<std::mutex>;

constexpr unsigned kNonBlocking = 1;
// Handles that stand for a stream.
constexpr uintptr_t kLegacyStream = 1;
constexpr uintptr_t kPerThreadStream = 2;
constexpr int kGarbage = 0xdd;

bool is_copy(const Operation& operation) {
  return operation.what == What::kToHost || operation.what == What::kToDevice ||
         operation.what == What::kAcross;
}

std::chrono::nanoseconds time_of(const Operation& copy) {
  State& all = state();
  all.chance = all.chance * 6364136223846793005U + 1442695040888963407U;
  const unsigned range = all.most_delay - std::min(all.least_delay, all.most_delay) + 1;
  const uint64_t us = all.least_delay + (all.chance >> 33U) % range;
  uint64_t ns = us * 1000;
  if (all.bandwidth != 0) ns += copy.length * 1'000'000'000U / all.bandwidth;
  return std::chrono::nanoseconds{ns};
}

void move_bytes(const Operation& copy, FakeContext& context) {
  State& all = state();
  char* const bytes = bytes_at(copy.device, copy.length);
  const char* const from =
      copy.what == What::kAcross ? bytes_at(copy.from, copy.length) : static_cast<char*>(copy.host);
  if (all.fail_copy != kSuccess || bytes == nullptr || from == nullptr) {
    context.error = bytes == nullptr || from == nullptr ? kIllegalAddress : all.fail_copy;
    all.fail_copy = kSuccess;
    return;
  }
  if (context.error != kSuccess) return;
  // Only now: host memory that is used again too early is noticed.
  if (copy.what == What::kToHost) {
    std::memcpy(copy.host, bytes, copy.length);
  } else {
    std::memcpy(bytes, from, copy.length);
  }
}

void carry_out(const Operation& operation, const FakeStream& stream, Lock& lock) {
  State& all = state();
  if (operation.what == What::kWait) {
    all.changed.wait(lock, [&] { return operation.event->reached >= operation.count; });
    return;
  }
  if (operation.what == What::kWord) {
    // Like a real GPU: after an error nothing is written any more.
    if (stream.context->error == kSuccess) {
      __atomic_store_n(static_cast<uint32_t*>(operation.host),
                       static_cast<uint32_t>(operation.count), __ATOMIC_RELEASE);
    }
    return;
  }
  if (stream.blocking) all.changed.wait(lock, [&] { return all.kernels == 0; });
  if (operation.what == What::kRecord) {
    operation.event->reached = operation.count;
    return;
  }
  if (operation.what == What::kToHost && bytes_at(operation.device, operation.length) != nullptr) {
    std::memset(operation.host, kGarbage, operation.length);
  }
  const std::chrono::nanoseconds time = time_of(operation);
  if (time.count() != 0) {
    lock.unlock();
    std::this_thread::sleep_for(time);
    lock.lock();
  }
  all.changed.wait(lock, [&] { return !all.held; });
  move_bytes(operation, *stream.context);
}

void run(FakeStream* stream) {
  State& all = state();
  Lock lock{all.mutex};
  for (;;) {
    all.changed.wait(lock, [&] { return !stream->queue.empty() || stream->ending; });
    if (stream->queue.empty()) break;
    const Operation operation = stream->queue.front();
    carry_out(operation, *stream, lock);
    stream->queue.pop_front();
    all.changed.notify_all();
  }
  delete stream;
}

CUresult check_stream(const Call& call, const FakeStream* stream) {
  const auto& known = state().streams;
  if (std::find(known.begin(), known.end(), stream) == known.end()) return kInvalidHandle;
  return stream->context == call.context() ? kSuccess : kInvalidHandle;
}

CUresult check_event(const Call& call, const FakeEvent* event) {
  const auto& known = state().events;
  if (std::find(known.begin(), known.end(), event) == known.end()) return kInvalidHandle;
  return event->context == call.context() ? kSuccess : kInvalidHandle;
}

CUresult copy(Call& call, const Operation& operation, FakeStream* stream) {
  if (call.result() != kSuccess) return call.result();
  State& all = state();
  if (bytes_at(operation.device, operation.length) == nullptr) return kInvalidValue;
  const bool across = operation.what == What::kAcross;
  if (across && bytes_at(operation.from, operation.length) == nullptr) return kInvalidValue;
  ++all.counts.copies;
  all.counts.copied_bytes += operation.length;
  if (!across && !is_pinned(operation.host, operation.length)) ++all.counts.unpinned_copies;
  if (stream == nullptr) {
    ++all.counts.default_stream_copies;
    FakeStream legacy{.context = call.context(), .blocking = true, .ending = false, .queue = {}};
    carry_out(operation, legacy, call.lock());
    return call.context()->error;
  }
  if (const CUresult wrong = check_stream(call, stream); wrong != kSuccess) return wrong;
  stream->queue.push_back(operation);
  all.changed.notify_all();
  return kSuccess;
}

}  // namespace

void wait_for_copies(Lock& lock, CUdeviceptr address, size_t length) {
  const auto copies = [&](const FakeStream* stream) {
    return std::any_of(stream->queue.begin(), stream->queue.end(), [&](const Operation& operation) {
      return is_copy(operation) && operation.device < address + length &&
             address < operation.device + operation.length;
    });
  };
  state().changed.wait(
      lock, [&] { return std::none_of(state().streams.begin(), state().streams.end(), copies); });
}

void wait_for_streams(Lock& lock) {
  const auto idle = [](const FakeStream* stream) { return stream->queue.empty(); };
  state().changed.wait(
      lock, [&] { return std::all_of(state().streams.begin(), state().streams.end(), idle); });
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  Call call{"cuStreamCreate"};
  if (call.result() != kSuccess) return call.result();
  *stream = new FakeStream{.context = call.context(),
                           .blocking = (flags & kNonBlocking) == 0,
                           .ending = false,
                           .queue = {}};
  state().streams.push_back(*stream);
  std::thread{run, *stream}.detach();
  return kSuccess;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  const Call call{"cuStreamDestroy_v2"};
  if (call.result() != kSuccess) return call.result();
  if (const CUresult wrong = check_stream(call, stream); wrong != kSuccess) return wrong;
  std::erase(state().streams, stream);
  stream->ending = true;
  state().changed.notify_all();
  return kSuccess;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned /*flags*/) {
  const Call call{"cuStreamWaitEvent"};
  if (call.result() != kSuccess) return call.result();
  if (const CUresult wrong = check_stream(call, stream); wrong != kSuccess) return wrong;
  if (const CUresult wrong = check_event(call, event); wrong != kSuccess) return wrong;
  stream->queue.push_back({.what = What::kWait,
                           .host = nullptr,
                           .device = 0,
                           .from = 0,
                           .length = 0,
                           .event = event,
                           .count = event->recorded});
  state().changed.notify_all();
  return kSuccess;
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr to, uint32_t value,
                                 unsigned /*flags*/) {
  const Call call{"cuStreamWriteValue32_v2"};
  if (call.result() != kSuccess) return call.result();
  if (const CUresult wrong = check_stream(call, stream); wrong != kSuccess) return wrong;
  void* const word = reinterpret_cast<void*>(to);
  if (!is_pinned(word, sizeof value)) return kInvalidValue;
  stream->queue.push_back({.what = What::kWord,
                           .host = word,
                           .device = 0,
                           .from = 0,
                           .length = sizeof value,
                           .event = nullptr,
                           .count = value});
  state().changed.notify_all();
  return kSuccess;
}

CUresult cuStreamQuery(CUstream stream) {
  const Call call{"cuStreamQuery"};
  if (call.result() != kSuccess) return call.result();
  if (const CUresult wrong = check_stream(call, stream); wrong != kSuccess) return wrong;
  return stream->queue.empty() ? kSuccess : kNotReady;
}

CUresult cuStreamSynchronize(CUstream stream) {
  Call call{"cuStreamSynchronize"};
  if (call.result() != kSuccess) return call.result();
  if (const CUresult refused = call.disturbs_capture(); refused != kSuccess) return refused;
  State& all = state();
  const auto handle = reinterpret_cast<uintptr_t>(stream);
  if (handle == 0 || handle == kLegacyStream) {
    const auto idle = [](const FakeStream* one) { return !one->blocking || one->queue.empty(); };
    all.changed.wait(call.lock(), [&] {
      return all.kernels == 0 && std::all_of(all.streams.begin(), all.streams.end(), idle);
    });
  } else if (handle != kPerThreadStream) {  // no test begins work there
    if (const CUresult wrong = check_stream(call, stream); wrong != kSuccess) return wrong;
    all.changed.wait(call.lock(), [&] { return stream->queue.empty(); });
  }
  return call.context()->error;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* memory, unsigned /*flags*/) {
  const Call call{"cuMemHostGetDevicePointer_v2"};
  if (call.result() != kSuccess) return call.result();
  if (!is_pinned(memory, 1)) return kInvalidValue;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return kSuccess;
}

CUresult cuEventCreate(CUevent* event, unsigned /*flags*/) {
  const Call call{"cuEventCreate"};
  if (call.result() != kSuccess) return call.result();
  *event = new FakeEvent{.context = call.context(), .recorded = 0, .reached = 0};
  state().events.push_back(*event);
  return kSuccess;
}

CUresult cuEventDestroy_v2(CUevent event) {
  const Call call{"cuEventDestroy_v2"};
  if (call.result() != kSuccess) return call.result();
  if (const CUresult wrong = check_event(call, event); wrong != kSuccess) return wrong;
  std::erase(state().events, event);
  delete event;
  return kSuccess;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  const Call call{"cuEventRecord"};
  if (call.result() != kSuccess) return call.result();
  if (const CUresult wrong = check_event(call, event); wrong != kSuccess) return wrong;
  if (const CUresult wrong = check_stream(call, stream); wrong != kSuccess) return wrong;
  stream->queue.push_back({.what = What::kRecord,
                           .host = nullptr,
                           .device = 0,
                           .from = 0,
                           .length = 0,
                           .event = event,
                           .count = ++event->recorded});
  state().changed.notify_all();
  return kSuccess;
}

CUresult cuEventQuery(CUevent event) {
  Call call{"cuEventQuery"};
  if (call.result() != kSuccess) return call.result();
  if (const CUresult wrong = check_event(call, event); wrong != kSuccess) return wrong;
  if (const CUresult refused = call.disturbs_capture(); refused != kSuccess) return refused;
  return event->reached >= event->recorded ? kSuccess : kNotReady;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t length, CUstream stream) {
  Call call{"cuMemcpyHtoDAsync_v2"};
  return copy(call,
              {.what = What::kToDevice,
               .host = const_cast<void*>(from),
               .device = to,
               .from = 0,
               .length = length,
               .event = nullptr,
               .count = 0},
              stream);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t length, CUstream stream) {
  Call call{"cuMemcpyDtoHAsync_v2"};
  return copy(call,
              {.what = What::kToHost,
               .host = to,
               .device = from,
               .from = 0,
               .length = length,
               .event = nullptr,
               .count = 0},
              stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t length, CUstream stream) {
  Call call{"cuMemcpyDtoDAsync_v2"};
  return copy(call,
              {.what = What::kAcross,
               .host = nullptr,
               .device = to,
               .from = from,
               .length = length,
               .event = nullptr,
               .count = 0},
              stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t length) {
  return cuMemcpyHtoDAsync_v2(to, from, length, nullptr);
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t length) {
  return cuMemcpyDtoHAsync_v2(to, from, length, nullptr);
}

}  // extern "C"
