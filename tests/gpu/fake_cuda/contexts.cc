// Initialisation, devices, contexts, errors, and the control functions.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/gpu/fake_cuda/fake_state.h"

namespace fake_cuda {
namespace {

constexpr int kDevices = 2;
constexpr int kCaptureGlobal = 0;
constexpr int kCaptureRelaxed = 2;

thread_local std::vector<FakeContext*> current_contexts;
thread_local int capture_mode = kCaptureGlobal;
std::atomic<bool> used;

FakeContext* find_context(const FakeContext* context) {
  for (const auto& known : state().contexts) {
    if (known.get() == context) return known.get();
  }
  return nullptr;
}

CUresult usable(const FakeContext* context) {
  if (context == nullptr) return kInvalidContext;
  return context->destroyed ? kContextIsDestroyed : context->error;
}

}  // namespace

State& state() {
  static State* const made = [] {
    used = true;
    auto* state = new State;  // never deleted: threads of streams use it during exit
    state->pid = ::getpid();
    // For processes in which no test runs: "least,most".
    if (const char* const delays = std::getenv("FAKE_CUDA_DELAY_US")) {
      (void)std::sscanf(delays, "%u,%u", &state->least_delay, &state->most_delay);
    }
    for (int device = 0; device < kDevices; ++device) {
      state->contexts.push_back(std::make_unique<FakeContext>());
      state->contexts.back()->device = device;
      state->contexts.back()->primary = true;
    }
    return state;
  }();
  return *made;
}

Call::Call(const char* function, bool needs_context) {
  State& all = state();
  if (all.pid != ::getpid()) {  // the driver does not work in the child of a fork
    result_ = kNotInitialized;
    return;
  }
  lock_ = std::unique_lock{all.mutex};
  all.changed.wait(lock_, [&] { return !all.blocked; });
  ++all.counts.calls;
  for (Injected& failure : all.injected) {
    if (failure.function != function || failure.count == 0) continue;
    --failure.count;
    result_ = failure.result;
    return;
  }
  if (!all.initialised) {
    result_ = kNotInitialized;
    return;
  }
  if (!needs_context) return;
  context_ = current_contexts.empty() ? nullptr : current_contexts.back();
  result_ = usable(context_);
}

CUresult Call::disturbs_capture() {
  State& all = state();
  if (!all.capturing || capture_mode == kCaptureRelaxed) return kSuccess;
  all.capture_valid = false;
  return kCaptureUnsupported;
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

CUresult cuInit(unsigned /*flags*/) {
  State& all = state();
  if (all.pid != ::getpid()) return kNotInitialized;
  const std::scoped_lock guard{all.mutex};
  all.initialised = true;
  return kSuccess;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  const Call call{"cuDeviceGet", false};
  if (call.result() != kSuccess) return call.result();
  if (ordinal < 0 || ordinal >= kDevices) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

CUresult cuDeviceGetCount(int* count) {
  const Call call{"cuDeviceGetCount", false};
  if (call.result() != kSuccess) return call.result();
  *count = kDevices;
  return kSuccess;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  const Call call{"cuDeviceGetUuid_v2", false};
  if (call.result() != kSuccess) return call.result();
  if (device < 0 || device >= kDevices) return kInvalidDevice;
  std::memset(uuid, device + 1, sizeof *uuid);
  return kSuccess;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const Call call{"cuDevicePrimaryCtxRetain", false};
  if (call.result() != kSuccess) return call.result();
  if (device < 0 || device >= kDevices) return kInvalidDevice;
  *context = state().contexts[static_cast<size_t>(device)].get();
  return kSuccess;
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned /*flags*/, CUdevice device) {
  const Call call{"cuCtxCreate_v2", false};
  if (call.result() != kSuccess) return call.result();
  state().contexts.push_back(std::make_unique<FakeContext>());
  *context = state().contexts.back().get();
  (*context)->device = device;
  current_contexts.push_back(*context);
  return kSuccess;
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  Call call{"cuCtxDestroy_v2", false};
  if (call.result() != kSuccess) return call.result();
  FakeContext* const known = find_context(context);
  if (known == nullptr || known->primary) return kInvalidContext;
  known->destroyed = true;
  std::vector<CUdeviceptr> owned;
  for (const auto& [address, allocation] : state().allocations) {
    if (allocation.context == known) owned.push_back(address);
  }
  for (const CUdeviceptr address : owned) {
    wait_for_copies(call.lock(), address, 1);
    free_allocation(address);
  }
  std::erase(current_contexts, known);
  return kSuccess;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  const Call call{"cuCtxPushCurrent_v2", false};
  if (call.result() != kSuccess) return call.result();
  FakeContext* const known = find_context(context);
  if (known == nullptr) return kInvalidContext;
  if (known->destroyed) return kContextIsDestroyed;
  current_contexts.push_back(known);
  return kSuccess;
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  const Call call{"cuCtxPopCurrent_v2", false};
  if (call.result() != kSuccess) return call.result();
  if (current_contexts.empty()) return kInvalidContext;
  *context = current_contexts.back();
  current_contexts.pop_back();
  return kSuccess;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  const Call call{"cuCtxGetCurrent", false};
  if (call.result() != kSuccess) return call.result();
  *context = current_contexts.empty() ? nullptr : current_contexts.back();
  return kSuccess;
}

CUresult cuThreadExchangeStreamCaptureMode(int* mode) {
  const Call call{"cuThreadExchangeStreamCaptureMode", false};
  if (call.result() != kSuccess) return call.result();
  std::swap(*mode, capture_mode);
  return kSuccess;
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  switch (error) {
    case kInvalidValue:
      *name = "CUDA_ERROR_INVALID_VALUE";
      return kSuccess;
    case kIllegalAddress:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      return kSuccess;
    case kContextIsDestroyed:
      *name = "CUDA_ERROR_CONTEXT_IS_DESTROYED";
      return kSuccess;
    default:
      *name = nullptr;
      return kInvalidValue;
  }
}

CUresult cuGetErrorString(CUresult /*error*/, const char** text) {
  *text = "reported by the stand-in driver";
  return kSuccess;
}

void fake_cuda_set_delay_us(unsigned least, unsigned most) {
  const std::scoped_lock guard{state().mutex};
  state().least_delay = least;
  state().most_delay = most;
}

void fake_cuda_set_bandwidth(uint64_t bytes_per_second) {
  const std::scoped_lock guard{state().mutex};
  state().bandwidth = bytes_per_second;
}

void fake_cuda_hold_copies() {
  const std::scoped_lock guard{state().mutex};
  state().held = true;
}

void fake_cuda_let_copies_end() {
  const std::scoped_lock guard{state().mutex};
  state().held = false;
  state().changed.notify_all();
}

void fake_cuda_begin_kernel() {
  const std::scoped_lock guard{state().mutex};
  ++state().kernels;
}

void fake_cuda_end_kernel() {
  const std::scoped_lock guard{state().mutex};
  --state().kernels;
  state().changed.notify_all();
}

void fake_cuda_block_calls() {
  const std::scoped_lock guard{state().mutex};
  state().blocked = true;
}

void fake_cuda_let_calls_go_on() {
  const std::scoped_lock guard{state().mutex};
  state().blocked = false;
  state().changed.notify_all();
}

void fake_cuda_begin_capture() {
  const std::scoped_lock guard{state().mutex};
  state().capturing = state().capture_valid = true;
}

bool fake_cuda_end_capture() {
  const std::scoped_lock guard{state().mutex};
  state().capturing = false;
  return state().capture_valid;
}

void fake_cuda_fail_next(const char* function, CUresult result, int count) {
  const std::scoped_lock guard{state().mutex};
  state().injected.push_back({function, result, count});
}

void fake_cuda_fail_copy(CUresult result) {
  const std::scoped_lock guard{state().mutex};
  state().fail_copy = result;
}

void fake_cuda_fail_context(CUcontext context, CUresult result) {
  const std::scoped_lock guard{state().mutex};
  context->error = result;
}

bool fake_cuda_was_used() { return used; }

FakeCudaCounts fake_cuda_counts() {
  const std::scoped_lock guard{state().mutex};
  FakeCudaCounts counts = state().counts;
  counts.streams = state().streams.size();
  counts.events = state().events.size();
  counts.pinned = state().pinned.size();
  return counts;
}

void fake_cuda_reset() {
  State& all = state();
  std::unique_lock lock{all.mutex};
  all.least_delay = 0;
  all.most_delay = 20;
  all.bandwidth = 0;
  all.held = all.capturing = all.blocked = false;
  all.kernels = 0;
  all.changed.notify_all();
  wait_for_streams(lock);  // a late failure would be one of the next test
  all.fail_copy = kSuccess;
  all.injected.clear();
  all.counts = {};
  for (const auto& context : all.contexts) context->error = kSuccess;
}

}  // extern "C"
