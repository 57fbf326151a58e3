// The part of the CUDA driver that the library uses, found in the libcuda.so.1 that the program has
// loaded: a program without it has no GPU memory. No CUDA header is needed; the numbers are those
// of the driver's ABI.
#pragma once

#include <cstddef>
#include <string>

namespace nerve::ai::cuda {

using Address = unsigned long long;  // CUdeviceptr
using Device = int;                  // CUdevice
using Context = struct ContextTag*;  // CUcontext
using Stream = struct StreamTag*;    // CUstream

enum class Result : int {  // CUresult
  kSuccess = 0,
  kInvalidValue = 1,
  kNotInitialized = 3,
};

// CUpointer_attribute, and the type that each value has.
enum class PointerAttribute : int {
  kContext = 1,        // CUcontext
  kMemoryType = 2,     // unsigned int
  kBufferId = 7,       // unsigned long long: unique in the process
  kIsManaged = 8,      // unsigned int
  kDeviceOrdinal = 9,  // int
  kRangeStart = 11,    // CUdeviceptr
  kRangeSize = 12,     // size_t
};

inline constexpr unsigned kMemoryTypeDevice = 2;      // CU_MEMORYTYPE_DEVICE
inline constexpr unsigned kStreamNonBlocking = 1;     // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kHostRegisterPortable = 1;  // CU_MEMHOSTREGISTER_PORTABLE
inline constexpr int kCaptureModeRelaxed = 2;         // CU_STREAM_CAPTURE_MODE_RELAXED

struct Driver {
  Result (*pointer_get_attributes)(unsigned count, PointerAttribute* attributes, void** values,
                                   Address pointer){};
  Result (*get_error_name)(Result error, const char** name){};
  Result (*device_get)(Device* device, int ordinal){};
  Result (*device_primary_ctx_retain)(Context* context, Device device){};
  Result (*ctx_push_current)(Context context){};
  Result (*ctx_pop_current)(Context* context){};
  Result (*stream_create)(Stream* stream, unsigned flags){};
  Result (*stream_destroy)(Stream stream){};
  Result (*stream_synchronize)(Stream stream){};
  Result (*mem_host_register)(void* memory, std::size_t length, unsigned flags){};
  Result (*mem_host_unregister)(void* memory){};
  Result (*memcpy_htod_async)(Address to, const void* from, std::size_t length, Stream stream){};
  Result (*memcpy_dtoh_async)(void* to, Address from, std::size_t length, Stream stream){};
  Result (*memcpy_dtod_async)(Address to, Address from, std::size_t length, Stream stream){};
  Result (*thread_exchange_stream_capture_mode)(int* mode){};  // null before CUDA 10.1
};

// Null if the program has not loaded the driver. Cheap if it was loaded, or if no library was
// loaded since the last call.
[[nodiscard]] const Driver* loaded_driver();

// "CUDA_ERROR_INVALID_VALUE"
[[nodiscard]] std::string describe(const Driver& driver, Result result);

// Makes a context current to this thread for the duration of a block, and lets the thread call the
// driver while another thread captures a graph, which our calls would otherwise invalidate.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, Context context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  [[nodiscard]] Result result() const { return result_; }

 private:
  const Driver& driver_;
  Result result_;
  int capture_mode_{kCaptureModeRelaxed};
};

}  // namespace nerve::ai::cuda
