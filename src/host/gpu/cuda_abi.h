// The part of the CUDA driver's ABI that Nerve uses: types, constants and signatures.
//
// No CUDA header is needed to build Nerve. The numbers are fixed by the ABI of libcuda.so.1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nerve::host::cuda {

using Address = unsigned long long;  // CUdeviceptr
using Device = int;                  // CUdevice
using Context = struct ContextTag*;  // CUcontext
using Stream = struct StreamTag*;    // CUstream
using Event = struct EventTag*;      // CUevent

// CUresult.
enum class Status : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kEccUncorrectable = 214,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kContextIsDestroyed = 709,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kStreamCaptureUnsupported = 900,
  kUnknown = 999,
};

// CUpointer_attribute, and the type that each value has.
enum class PointerAttribute : int {
  kContext = 1,        // CUcontext
  kMemoryType = 2,     // unsigned int
  kIsManaged = 8,      // unsigned int
  kDeviceOrdinal = 9,  // int
  kRangeStart = 11,    // CUdeviceptr
  kRangeSize = 12,     // size_t
};

// CUmemorytype.
inline constexpr unsigned kMemoryTypeHost = 1;
inline constexpr unsigned kMemoryTypeDevice = 2;

inline constexpr unsigned kStreamNonBlocking = 1;     // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kEventDisableTiming = 2;    // CU_EVENT_DISABLE_TIMING
inline constexpr unsigned kHostRegisterPortable = 1;  // CU_MEMHOSTREGISTER_PORTABLE
inline constexpr int kCaptureModeRelaxed = 2;         // CU_STREAM_CAPTURE_MODE_RELAXED

// The functions, each under the name of its symbol.
extern "C" {
using PointerGetAttributes = Status(unsigned count, PointerAttribute* attributes, void** values,
                                    Address pointer);
using GetErrorName = Status(Status error, const char** name);
using GetErrorString = Status(Status error, const char** text);
using DeviceGet = Status(Device* device, int ordinal);
using DevicePrimaryCtxRetain = Status(Context* context, Device device);
using CtxPushCurrent = Status(Context context);
using CtxPopCurrent = Status(Context* context);
using StreamCreate = Status(Stream* stream, unsigned flags);
using StreamDestroy = Status(Stream stream);
using StreamWaitEvent = Status(Stream stream, Event event, unsigned flags);
using EventCreate = Status(Event* event, unsigned flags);
using EventDestroy = Status(Event event);
using EventRecord = Status(Event event, Stream stream);
using EventQuery = Status(Event event);
using MemHostRegister = Status(void* memory, std::size_t length, unsigned flags);
using MemHostUnregister = Status(void* memory);
using MemcpyHtoDAsync = Status(Address to, const void* from, std::size_t length, Stream stream);
using MemcpyDtoHAsync = Status(void* to, Address from, std::size_t length, Stream stream);
using ThreadExchangeStreamCaptureMode = Status(int* mode);
}

}  // namespace nerve::host::cuda
