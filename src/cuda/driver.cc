#include "cuda/driver.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <mutex>

namespace nerve::cuda {
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
bool resolve(void* library, const char* name, Function*& into) {
  into = reinterpret_cast<Function*>(::dlsym(library, name));
  return into != nullptr;
}

// The name of a function that this library lacks and that is always needed; null if there is none.
const char* resolve_all(void* library, Driver& into) {
  (void)resolve(library, "cuMemHostGetDevicePointer_v2", into.mem_host_get_device_pointer);
  (void)resolve(library, "cuStreamWriteValue32_v2", into.stream_write_value);
  (void)resolve(library, "cuThreadExchangeStreamCaptureMode",
                into.thread_exchange_stream_capture_mode);
  const char* missing = nullptr;
  const auto need = [&]<class Function>(const char* name, Function*& function) {
    if (!resolve(library, name, function)) missing = name;
  };
  need("cuPointerGetAttributes", into.pointer_get_attributes);
  need("cuGetErrorName", into.get_error_name);
  need("cuGetErrorString", into.get_error_string);
  need("cuDeviceGet", into.device_get);
  need("cuDevicePrimaryCtxRetain", into.device_primary_ctx_retain);
  need("cuCtxPushCurrent_v2", into.ctx_push_current);
  need("cuCtxPopCurrent_v2", into.ctx_pop_current);
  need("cuStreamCreate", into.stream_create);
  need("cuStreamDestroy_v2", into.stream_destroy);
  need("cuStreamWaitEvent", into.stream_wait_event);
  need("cuStreamQuery", into.stream_query);
  need("cuStreamSynchronize", into.stream_synchronize);
  need("cuEventCreate", into.event_create);
  need("cuEventDestroy_v2", into.event_destroy);
  need("cuEventRecord", into.event_record);
  need("cuEventQuery", into.event_query);
  need("cuMemHostRegister_v2", into.mem_host_register);
  need("cuMemHostUnregister", into.mem_host_unregister);
  need("cuMemcpyHtoDAsync_v2", into.memcpy_htod_async);
  need("cuMemcpyDtoHAsync_v2", into.memcpy_dtoh_async);
  need("cuMemcpyDtoDAsync_v2", into.memcpy_dtod_async);
  return missing;
}

const Driver::Sharing* find_sharing(void* library) {
  static Driver::Sharing found;
  bool complete = true;
  const auto look_up = [&]<class Function>(const char* name, Function*& into) {
    complete = resolve(library, name, into) && complete;
  };
  look_up("cuInit", found.init);
  look_up("cuDeviceGetCount", found.device_get_count);
  look_up("cuDeviceGetUuid_v2", found.device_get_uuid);
  look_up("cuIpcGetMemHandle", found.ipc_get_mem_handle);
  look_up("cuIpcOpenMemHandle_v2", found.ipc_open_mem_handle);
  look_up("cuIpcCloseMemHandle", found.ipc_close_mem_handle);
  look_up("cuMemRetainAllocationHandle", found.mem_retain_allocation_handle);
  look_up("cuMemExportToShareableHandle", found.mem_export_to_shareable_handle);
  look_up("cuMemImportFromShareableHandle", found.mem_import_from_shareable_handle);
  look_up("cuMemRelease", found.mem_release);
  look_up("cuMemAddressReserve", found.mem_address_reserve);
  look_up("cuMemAddressFree", found.mem_address_free);
  look_up("cuMemMap", found.mem_map);
  look_up("cuMemUnmap", found.mem_unmap);
  look_up("cuMemSetAccess", found.mem_set_access);
  return complete ? &found : nullptr;
}

std::mutex searching;
std::atomic<const Driver*> found;
// The number of libraries at the last search: without a new one, another search finds nothing.
std::atomic<unsigned long long> searched_at;

}  // namespace

const Driver* loaded_driver(ReportMissing report) {
  if (const Driver* driver = found.load(std::memory_order_acquire)) return driver;
  const unsigned long long loaded = libraries_loaded();
  if (loaded == searched_at.load(std::memory_order_relaxed)) return nullptr;
  // The loader's lock is taken inside this one; only `report` is called back.
  const std::scoped_lock guard{searching};
  if (const Driver* driver = found.load(std::memory_order_acquire)) return driver;
  searched_at.store(loaded, std::memory_order_relaxed);
  // The handle is kept, so that the functions stay.
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  static Driver driver;
  if (const char* missing = resolve_all(library, driver); missing != nullptr) {
    if (report != nullptr) report(missing);
    return nullptr;
  }
  driver.sharing = find_sharing(library);
  found.store(&driver, std::memory_order_release);
  return &driver;
}

const Driver* load_driver() {
  (void)::dlopen("libcuda.so.1", RTLD_NOW);  // never closed
  return loaded_driver();
}

std::string describe(const Driver& driver, Status status) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.get_error_name(status, &name) != Status::kSuccess || name == nullptr) {
    return "CUDA error " + std::to_string(static_cast<int>(status));
  }
  if (driver.get_error_string(status, &text) != Status::kSuccess || text == nullptr) return name;
  return std::string{name} + " (" + text + ")";
}

bool ends_context(Status status) {
  switch (status) {
    case Status::kNotInitialized:
    case Status::kDeinitialized:
    case Status::kDeviceUnavailable:
    case Status::kNoDevice:
    case Status::kInvalidDevice:
    case Status::kInvalidContext:
    case Status::kEccUncorrectable:
    case Status::kUnknown:
      return true;
    default:
      // Errors of kernels and copies that have already run: all of them are permanent.
      return status >= Status::kIllegalAddress && status < Status::kNotPermitted;
  }
}

CurrentContext::CurrentContext(const Driver& driver, Context context)
    : driver_{driver}, status_{driver.ctx_push_current(context)} {
  if (status_ == Status::kSuccess && driver_.thread_exchange_stream_capture_mode != nullptr) {
    (void)driver_.thread_exchange_stream_capture_mode(&capture_mode_);
  }
}

CurrentContext::~CurrentContext() {
  if (status_ != Status::kSuccess) return;
  if (driver_.thread_exchange_stream_capture_mode != nullptr) {
    (void)driver_.thread_exchange_stream_capture_mode(&capture_mode_);
  }
  Context popped{};
  (void)driver_.ctx_pop_current(&popped);
}

}  // namespace nerve::cuda
