// The part of the CUDA driver's ABI that Nerve uses: types, constants and signatures.
//
// No CUDA header is needed to build Nerve. The numbers are fixed by the ABI of libcuda.so.1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nerve::cuda {

using Address = unsigned long long;      // CUdeviceptr
using Device = int;                      // CUdevice
using Context = struct ContextTag*;      // CUcontext
using Stream = struct StreamTag*;        // CUstream
using Event = struct EventTag*;          // CUevent
using Allocation = unsigned long long;   // CUmemGenericAllocationHandle
using Uuid = std::array<std::byte, 16>;  // CUuuid

struct IpcHandle {  // CUipcMemHandle
  std::array<std::byte, 64> bytes{};
};

struct AccessRight {  // CUmemAccessDesc
  int location_type{};
  int location{};
  int flags{};
};

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
  kBufferId = 7,       // unsigned long long: unique in the process
  kIsManaged = 8,      // unsigned int
  kDeviceOrdinal = 9,  // int
  kHasIpcHandle = 10,  // unsigned int
  kRangeStart = 11,    // CUdeviceptr
  kRangeSize = 12,     // size_t
};

// CUmemorytype.
inline constexpr unsigned kMemoryTypeHost = 1;
inline constexpr unsigned kMemoryTypeDevice = 2;

inline constexpr unsigned kStreamNonBlocking = 1;     // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kEventDisableTiming = 2;    // CU_EVENT_DISABLE_TIMING
inline constexpr unsigned kHostRegisterPortable = 1;  // CU_MEMHOSTREGISTER_PORTABLE
inline constexpr unsigned kHostRegisterMapped = 2;    // CU_MEMHOSTREGISTER_DEVICEMAP
inline constexpr int kCaptureModeRelaxed = 2;         // CU_STREAM_CAPTURE_MODE_RELAXED
inline constexpr unsigned kIpcLazyPeerAccess = 1;     // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
inline constexpr int kHandleIsDescriptor = 1;         // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
inline constexpr int kLocationIsDevice = 1;           // CU_MEM_LOCATION_TYPE_DEVICE
inline constexpr int kReadAndWrite = 3;               // CU_MEM_ACCESS_FLAGS_PROT_READWRITE

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
using MemcpyDtoDAsync = Status(Address to, Address from, std::size_t length, Stream stream);
using MemHostGetDevicePointer = Status(Address* pointer, void* memory, unsigned flags);
using StreamWriteValue32 = Status(Stream stream, Address to, std::uint32_t value, unsigned flags);
using StreamQuery = Status(Stream stream);
using StreamSynchronize = Status(Stream stream);
using Init = Status(unsigned flags);
using DeviceGetCount = Status(int* count);
using DeviceGetUuid = Status(Uuid* uuid, Device device);
using IpcGetMemHandle = Status(IpcHandle* handle, Address pointer);
using IpcOpenMemHandle = Status(Address* pointer, IpcHandle handle, unsigned flags);
using IpcCloseMemHandle = Status(Address pointer);
using MemRetainAllocationHandle = Status(Allocation* allocation, void* address);
using MemExportToShareableHandle = Status(void* handle, Allocation allocation, int type,
                                          unsigned long long flags);
using MemImportFromShareableHandle = Status(Allocation* allocation, void* handle, int type);
using MemRelease = Status(Allocation allocation);
using MemAddressReserve = Status(Address* pointer, std::size_t size, std::size_t alignment,
                                 Address hint, unsigned long long flags);
using MemAddressFree = Status(Address pointer, std::size_t size);
using MemMap = Status(Address pointer, std::size_t size, std::size_t offset, Allocation allocation,
                      unsigned long long flags);
using MemUnmap = Status(Address pointer, std::size_t size);
using MemSetAccess = Status(Address pointer, std::size_t size, const AccessRight* rights,
                            std::size_t count);
using ThreadExchangeStreamCaptureMode = Status(int* mode);
}

}  // namespace nerve::cuda
