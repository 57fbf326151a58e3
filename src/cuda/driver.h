// The CUDA driver of this process, as a table of functions, for whoever copies GPU memory: the NIC
// (host/) and the tensor library (ai/).
//
// The driver of a program is never loaded from here. A program that has CUDA memory has loaded
// libcuda.so.1 itself; in every other process there is no driver, and finding that out again costs
// less than a system call.
#pragma once

#include <string>

#include "cuda/abi.h"

namespace nerve::cuda {

struct Driver {
  PointerGetAttributes* pointer_get_attributes{};
  GetErrorName* get_error_name{};
  GetErrorString* get_error_string{};
  DeviceGet* device_get{};
  DevicePrimaryCtxRetain* device_primary_ctx_retain{};
  CtxPushCurrent* ctx_push_current{};
  CtxPopCurrent* ctx_pop_current{};
  StreamCreate* stream_create{};
  StreamDestroy* stream_destroy{};
  StreamWaitEvent* stream_wait_event{};
  EventCreate* event_create{};
  EventDestroy* event_destroy{};
  EventRecord* event_record{};
  EventQuery* event_query{};
  MemHostRegister* mem_host_register{};
  MemHostUnregister* mem_host_unregister{};
  MemcpyHtoDAsync* memcpy_htod_async{};
  MemcpyDtoHAsync* memcpy_dtoh_async{};
  MemcpyDtoDAsync* memcpy_dtod_async{};
  StreamQuery* stream_query{};
  StreamSynchronize* stream_synchronize{};
  // These are null before CUDA 12.
  MemHostGetDevicePointer* mem_host_get_device_pointer{};
  StreamWriteValue32* stream_write_value{};
  ThreadExchangeStreamCaptureMode* thread_exchange_stream_capture_mode{};  // null: before CUDA 10.1

  // Memory that several processes use. Null if the driver is too old for one of them.
  struct Sharing {
    Init* init{};
    DeviceGetCount* device_get_count{};
    DeviceGetUuid* device_get_uuid{};
    IpcGetMemHandle* ipc_get_mem_handle{};
    IpcOpenMemHandle* ipc_open_mem_handle{};
    IpcCloseMemHandle* ipc_close_mem_handle{};
    MemRetainAllocationHandle* mem_retain_allocation_handle{};
    MemExportToShareableHandle* mem_export_to_shareable_handle{};
    MemImportFromShareableHandle* mem_import_from_shareable_handle{};
    MemRelease* mem_release{};
    MemAddressReserve* mem_address_reserve{};
    MemAddressFree* mem_address_free{};
    MemMap* mem_map{};
    MemUnmap* mem_unmap{};
    MemSetAccess* mem_set_access{};
  };
  const Sharing* sharing{};
};

// Called with a function that the driver lacks, so that it cannot be used.
using ReportMissing = void (*)(const char* function);

// The driver that the program has loaded; null if it has loaded none. Once found, it stays.
[[nodiscard]] const Driver* loaded_driver(ReportMissing report = nullptr);

// For a process of ours: loads the driver. Null if there is none.
[[nodiscard]] const Driver* load_driver();

// "CUDA_ERROR_INVALID_VALUE (invalid argument)"
[[nodiscard]] std::string describe(const Driver& driver, Status status);

// True if no later call in the same context can succeed: the context was destroyed, its device
// failed, or the process is exiting.
[[nodiscard]] bool ends_context(Status status);

// Makes a context current to this thread for the duration of a block, and lets the thread call the
// driver while another thread of the program captures a graph: a capture in global mode would
// otherwise be invalidated by our calls.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, Context context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  [[nodiscard]] Status status() const { return status_; }

 private:
  const Driver& driver_;
  Status status_;
  int capture_mode_{kCaptureModeRelaxed};
};

}  // namespace nerve::cuda
