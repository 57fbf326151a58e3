// A stand-in for libcuda.so.1: GPUs without a GPU, for tests.
//
// It has the driver's functions that Nerve and its tests use, under their real names. "GPU memory"
// is an address range that the CPU cannot access; the bytes live elsewhere. A copy takes time, and
// leaves the old bytes in place until it ends. What a real driver would only punish now and then is
// an error here: a stream used in the wrong context, a freed address, a copy on the default stream
// while a kernel runs.
//
// The functions below control it. They are safe to call from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct FakeContext*;
using CUstream = struct FakeStream*;
using CUevent = struct FakeEvent*;
struct CUipcMemHandle {
  char reserved[64];  // NOLINT(modernize-avoid-c-arrays): the ABI's
};
struct CUuuid {
  char bytes[16];  // NOLINT(modernize-avoid-c-arrays): the ABI's
};

// The part of the driver that tests call themselves.
CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext* context);
CUresult cuCtxGetCurrent(CUcontext* context);
CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t size);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemHostAlloc(void** memory, size_t size, unsigned flags);
CUresult cuMemFreeHost(void* memory);
CUresult cuPointerGetAttribute(void* value, int attribute, CUdeviceptr pointer);
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags);
CUresult cuIpcCloseMemHandle(CUdeviceptr address);

// Memory of a pool: it belongs to a device and to no context, and no other process can open it.
// Freed by cuMemFree_v2().
CUdeviceptr fake_cuda_alloc_pool(int device, size_t size);
// Memory from cuMemCreate(), mapped; `exportable`: with a file descriptor. Freed by
// fake_cuda_free_mapped().
CUdeviceptr fake_cuda_alloc_mapped(int device, size_t size, bool exportable);
void fake_cuda_free_mapped(CUdeviceptr address);
// Managed memory: accessible to the CPU.
void* fake_cuda_alloc_managed(size_t size);
// Frees memory without waiting for copies, as cuMemUnmap() does: those under way hit an illegal
// address.
void fake_cuda_unmap(CUdeviceptr address);

// Reads and writes the bytes of GPU memory at once. False if there is no such memory.
bool fake_cuda_poke(CUdeviceptr to, const void* from, size_t length);
bool fake_cuda_peek(void* to, CUdeviceptr from, size_t length);

// Each copy takes a random time in this range, in addition to one second per `bytes_per_second`.
void fake_cuda_set_delay_us(unsigned least, unsigned most);
void fake_cuda_set_bandwidth(uint64_t bytes_per_second);  // 0: infinite
// Copies end only in between these calls.
void fake_cuda_hold_copies();
void fake_cuda_let_copies_end();

// A kernel runs: the default stream, and streams that are not non-blocking, wait for its end.
void fake_cuda_begin_kernel();
void fake_cuda_end_kernel();
// Every call of the driver in this process waits until it may go on, as it would for a thread that
// holds the lock of its context.
void fake_cuda_block_calls();
void fake_cuda_let_calls_go_on();
// A graph is captured in global mode: a call that could disturb it invalidates it, unless the
// calling thread has relaxed its capture mode.
void fake_cuda_begin_capture();
bool fake_cuda_end_capture();  // whether the capture is valid

// The next calls of this function return this result.
void fake_cuda_fail_next(const char* function, CUresult result, int count);
// The next copy that ends reports this result instead, which is then the result of every call in
// its context.
void fake_cuda_fail_copy(CUresult result);
// A device that failed.
void fake_cuda_fail_context(CUcontext context, CUresult result);

struct FakeCudaCounts {
  uint64_t calls;                  // of the driver's functions, in this process
  uint64_t copies;                 // that were begun
  uint64_t default_stream_copies;  // of these, on the default stream
  uint64_t unpinned_copies;        // of these, with host memory that is not pinned
  uint64_t copied_bytes;
  uint64_t streams;  // that exist
  uint64_t events;   // that exist
  uint64_t pinned;   // ranges of host memory
};
FakeCudaCounts fake_cuda_counts();
// Whether this process, or the one that it was forked from, has called anything here.
bool fake_cuda_was_used();
// Default delays; no kernel, capture, failures or held copies. Counts start again, except of what
// exists. The primary contexts work again.
void fake_cuda_reset();

}  // extern "C"
