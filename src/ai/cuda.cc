#include "ai/cuda.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <mutex>

namespace nerve::ai::cuda {
namespace {

// The number of libraries that this process has loaded so far.
unsigned long long libraries_loaded() {
  unsigned long long loaded = 0;
  const auto first = [](dl_phdr_info* info, std::size_t /*size*/, void* into) {
    *static_cast<unsigned long long*>(into) = info->dlpi_adds;
    return 1;
  };
  (void)::dl_iterate_phdr(first, &loaded);
  return loaded;
}

template <class Function>
bool resolve(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

bool resolve_all(void* library, Driver& into) {
  (void)resolve(library, "cuThreadExchangeStreamCaptureMode",
                into.thread_exchange_stream_capture_mode);
  return resolve(library, "cuPointerGetAttributes", into.pointer_get_attributes) &&
         resolve(library, "cuGetErrorName", into.get_error_name) &&
         resolve(library, "cuDeviceGet", into.device_get) &&
         resolve(library, "cuDevicePrimaryCtxRetain", into.device_primary_ctx_retain) &&
         resolve(library, "cuCtxPushCurrent_v2", into.ctx_push_current) &&
         resolve(library, "cuCtxPopCurrent_v2", into.ctx_pop_current) &&
         resolve(library, "cuStreamCreate", into.stream_create) &&
         resolve(library, "cuStreamDestroy_v2", into.stream_destroy) &&
         resolve(library, "cuStreamSynchronize", into.stream_synchronize) &&
         resolve(library, "cuMemHostRegister_v2", into.mem_host_register) &&
         resolve(library, "cuMemHostUnregister", into.mem_host_unregister) &&
         resolve(library, "cuMemcpyHtoDAsync_v2", into.memcpy_htod_async) &&
         resolve(library, "cuMemcpyDtoHAsync_v2", into.memcpy_dtoh_async) &&
         resolve(library, "cuMemcpyDtoDAsync_v2", into.memcpy_dtod_async);
}

}  // namespace

const Driver* loaded_driver() {
  static std::mutex searching;
  static std::atomic<const Driver*> found;
  // The number of libraries at the last search: without a new one, another search finds nothing.
  static std::atomic<unsigned long long> searched_at;
  if (const Driver* driver = found.load(std::memory_order_acquire)) return driver;
  const unsigned long long loaded = libraries_loaded();
  if (loaded == searched_at.load(std::memory_order_relaxed)) return nullptr;
  const std::scoped_lock guard{searching};
  if (const Driver* driver = found.load(std::memory_order_acquire)) return driver;
  searched_at.store(loaded, std::memory_order_relaxed);
  // The handle is kept, so that the functions stay.
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  static Driver driver;
  if (library == nullptr || !resolve_all(library, driver)) return nullptr;
  found.store(&driver, std::memory_order_release);
  return &driver;
}

std::string describe(const Driver& driver, Result result) {
  const char* name = nullptr;
  if (driver.get_error_name(result, &name) == Result::kSuccess && name != nullptr) return name;
  return "CUDA error " + std::to_string(static_cast<int>(result));
}

CurrentContext::CurrentContext(const Driver& driver, Context context)
    : driver_{driver}, result_{driver.ctx_push_current(context)} {
  if (result_ == Result::kSuccess && driver_.thread_exchange_stream_capture_mode != nullptr) {
    (void)driver_.thread_exchange_stream_capture_mode(&capture_mode_);
  }
}

CurrentContext::~CurrentContext() {
  if (result_ != Result::kSuccess) return;
  if (driver_.thread_exchange_stream_capture_mode != nullptr) {
    (void)driver_.thread_exchange_stream_capture_mode(&capture_mode_);
  }
  Context popped{};
  (void)driver_.ctx_pop_current(&popped);
}

}  // namespace nerve::ai::cuda
