#include "ai/gpu.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace nerve::ai {
namespace {

using cuda::PointerAttribute;

// Between two GPUs, through memory of the process.
constexpr std::size_t kAcross = 1U << 20;

cuda::Address gpu_address(const void* pointer) { return reinterpret_cast<cuda::Address>(pointer); }

// What CUDA knows about an address.
struct Lookup {
  cuda::Status result{};
  bool on_gpu{};
  cuda::Context context{};
  cuda::Address base{};
  std::size_t size{};
  unsigned long long buffer{};
};

Lookup look_up(const cuda::Driver& driver, const void* address) {
  Lookup found;
  unsigned type{};
  unsigned managed{};
  int ordinal{-1};
  std::array attributes{PointerAttribute::kContext,    PointerAttribute::kMemoryType,
                        PointerAttribute::kIsManaged,  PointerAttribute::kDeviceOrdinal,
                        PointerAttribute::kRangeStart, PointerAttribute::kRangeSize,
                        PointerAttribute::kBufferId};
  std::array<void*, attributes.size()> values{&found.context, &type,       &managed,     &ordinal,
                                              &found.base,    &found.size, &found.buffer};
  found.result = driver.pointer_get_attributes(attributes.size(), attributes.data(), values.data(),
                                               gpu_address(address));
  // Managed memory is accessible to the CPU.
  found.on_gpu = found.result == cuda::Status::kSuccess && type == cuda::kMemoryTypeDevice &&
                 managed == 0 && found.size > 0;
  if (found.on_gpu && found.context == nullptr) {
    // Memory from cuMemCreate() or from a pool belongs to a device. The reference to its primary
    // context is kept for as long as the process lives.
    cuda::Device device{};
    found.result = driver.device_get(&device, ordinal);
    if (found.result == cuda::Status::kSuccess) {
      found.result = driver.device_primary_ctx_retain(&found.context, device);
    }
  }
  return found;
}

// Whether this process can read both ends of the range; true if the kernel does not tell.
bool is_mapped(const void* address, std::size_t length) {
  std::array<char, 2> bytes{};
  auto* first = static_cast<std::byte*>(const_cast<void*>(address));
  iovec to{bytes.data(), bytes.size()};
  std::array<iovec, 2> from{iovec{first, 1}, iovec{first + length - 1, 1}};
  const ssize_t got = ::process_vm_readv(::getpid(), &to, 1, from.data(), from.size(), 0);
  return got == 2 || (got < 0 && errno != EFAULT);
}

}  // namespace

template <class Call>
Status Gpu::call(const char* what, const std::byte* address, Call make) const {
  const cuda::CurrentContext current{driver_, context_};
  cuda::Status result = current.status();
  if (result == cuda::Status::kSuccess) result = make();
  if (result == cuda::Status::kSuccess) return Done{};
  return failure(Error::Kind::kSystem,
                 std::string{"cannot "} + what + " GPU memory at " + address_text(address) + ": " +
                     describe(driver_, result) + "; was it freed, or has its GPU failed?");
}

Status Gpu::open() {
  return call("use", nullptr, [&] {
    const cuda::Status made = driver_.stream_create(&reads_, cuda::kStreamNonBlocking);
    return made == cuda::Status::kSuccess
               ? driver_.stream_create(&writes_, cuda::kStreamNonBlocking)
               : made;
  });
}

Gpu::~Gpu() {
  const cuda::CurrentContext current{driver_, context_};
  if (current.status() != cuda::Status::kSuccess) return;  // it is gone, with its streams
  for (const cuda::Stream stream : {reads_, writes_}) {
    if (stream != nullptr) (void)driver_.stream_destroy(stream);
  }
}

Status Gpu::begin_read(std::byte* to, const std::byte* from, std::size_t length) {
  last_read_ = from;
  return call("read", from,
              [&] { return driver_.memcpy_dtoh_async(to, gpu_address(from), length, reads_); });
}

Status Gpu::begin_write(std::byte* to, const std::byte* from, std::size_t length) {
  last_write_ = to;
  return call("write", to,
              [&] { return driver_.memcpy_htod_async(gpu_address(to), from, length, writes_); });
}

Status Gpu::begin_copy(std::byte* to, const std::byte* from, std::size_t length) {
  last_write_ = to;
  return call("copy", from, [&] {
    return driver_.memcpy_dtod_async(gpu_address(to), gpu_address(from), length, writes_);
  });
}

Status Gpu::finish_reads() {
  return call("read", last_read_, [&] { return driver_.stream_synchronize(reads_); });
}

Status Gpu::finish_writes() {
  return call("write", last_write_, [&] { return driver_.stream_synchronize(writes_); });
}

void Gpu::pin(void* memory, std::size_t length) {
  (void)call("use", nullptr, [&] {
    return driver_.mem_host_register(memory, length, cuda::kHostRegisterPortable);
  });
}

void Gpu::unpin(void* memory) {
  (void)call("use", nullptr, [&] { return driver_.mem_host_unregister(memory); });
}

std::uint64_t Gpu::allocation_at(const std::byte* address) const {
  const Lookup found = look_up(driver_, address);
  return found.on_gpu ? found.buffer : 0;
}

Status begin_copy(const Memory& to, const Memory& from, std::size_t length) {
  if (length == 0 || to.data == from.data) return Done{};
  if (to.gpu != nullptr && from.gpu != nullptr) {
    return to.gpu->begin_copy(to.data, from.data, length);
  }
  if (to.gpu != nullptr) return to.gpu->begin_write(to.data, from.data, length);
  if (from.gpu != nullptr) return from.gpu->begin_read(to.data, from.data, length);
  std::memmove(to.data, from.data, length);
  return Done{};
}

Status copy(const Memory& to, const Memory& from, std::size_t length) {
  if (to.gpu != nullptr && from.gpu != nullptr && to.gpu != from.gpu) {
    std::vector<std::byte> through(std::min(length, kAcross));
    for (std::size_t at = 0; at < length; at += kAcross) {
      const std::size_t part = std::min(kAcross, length - at);
      Status moved = copy(host_memory(through.data()), from.at(at), part);
      if (moved) moved = copy(to.at(at), host_memory(through.data()), part);
      if (!moved) return moved;
    }
    return Done{};
  }
  if (Status begun = begin_copy(to, from, length); !begun) return begun;
  if (to.gpu != nullptr) return to.gpu->finish_writes();
  return from.gpu != nullptr ? from.gpu->finish_reads() : Done{};
}

Status finish_stream(const void* address, std::uint64_t stream) {
  const cuda::Driver* driver = cuda::loaded_driver();
  if (driver == nullptr) {
    return failure(Error::Kind::kUsage, address_text(address) +
                                            " is not GPU memory: this program has not loaded "
                                            "libcuda.so.1");
  }
  const Lookup found = look_up(*driver, address);
  cuda::Status result = found.result;
  if (result == cuda::Status::kSuccess && found.on_gpu) {
    const cuda::CurrentContext current{*driver, found.context};
    result = current.status();
    if (result == cuda::Status::kSuccess) {
      result = driver->stream_synchronize(reinterpret_cast<cuda::Stream>(stream));
    }
  }
  if (result == cuda::Status::kSuccess) return Done{};
  return failure(Error::Kind::kSystem, "cannot wait for the stream of the memory at " +
                                           address_text(address) + ": " +
                                           describe(*driver, result));
}

Result<Gpu*, Error> Gpus::find_or_open(const cuda::Driver& driver, cuda::Context context) {
  for (const auto& gpu : gpus_) {
    if (gpu->context() == context) return gpu.get();
  }
  auto made = std::make_unique<Gpu>(driver, context);
  if (Status opened = made->open(); !opened) return passed_on(opened);
  gpus_.push_back(std::move(made));
  return gpus_.back().get();
}

Result<Memory, Error> Gpus::locate(const void* address, std::size_t length) {
  Memory memory = host_memory(static_cast<const std::byte*>(address));
  const cuda::Driver* driver = cuda::loaded_driver();
  if (driver == nullptr || length == 0) return memory;
  const Lookup found = look_up(*driver, address);
  if (found.result == cuda::Status::kNotInitialized) return memory;
  const auto what = [&] {
    return address_text(address) + " with " + std::to_string(length) + " bytes";
  };
  if (!found.on_gpu) {
    if (is_mapped(address, length)) return memory;
    const bool failed =
        found.result != cuda::Status::kSuccess && found.result != cuda::Status::kInvalidValue;
    return failure(Error::Kind::kUsage,
                   what() + " is memory of neither a GPU nor this process" +
                       (failed ? ": " + describe(*driver, found.result) : "; was it freed?"));
  }
  if (found.result != cuda::Status::kSuccess) {
    return failure(Error::Kind::kSystem,
                   "CUDA cannot use " + what() + ": " + describe(*driver, found.result));
  }
  const std::size_t offset = gpu_address(address) - found.base;
  if (offset > found.size || length > found.size - offset) {
    return failure(Error::Kind::kUsage,
                   what() + " exceeds its allocation on the GPU, which has " +
                       std::to_string(found.size) + " bytes from " +
                       address_text(reinterpret_cast<const void*>(found.base)));
  }
  auto gpu = find_or_open(*driver, found.context);
  if (!gpu) return passed_on(gpu);
  memory.gpu = *gpu;
  memory.allocation = found.buffer;
  return memory;
}

}  // namespace nerve::ai
