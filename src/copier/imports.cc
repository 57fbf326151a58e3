#include "copier/imports.h"

#include <algorithm>

namespace nerve::copier {

using cuda::Status;

std::uint64_t Imports::open(cuda::Context context, cuda::Device device,
                            const host::copier::Request& request,
                            const link::Descriptor& descriptor, Status& why) {
  const cuda::CurrentContext current{driver_, context};
  why = current.status();
  if (why != Status::kSuccess) return 0;
  auto memory = std::make_unique<Memory>();
  memory->size = request.size;
  memory->context = context;
  if (descriptor) {
    why = map(*memory, device, descriptor.get());
  } else {
    cuda::Address at{};
    why = driver_.sharing->ipc_open_mem_handle(&at, request.handle, cuda::kIpcLazyPeerAccess);
    memory->address = at;
  }
  if (why != Status::kSuccess) return 0;
  const std::scoped_lock guard{guard_};
  all_.push_back(std::move(memory));
  return all_.back()->address;
}

Status Imports::map(Memory& memory, cuda::Device device, int descriptor) {
  const cuda::Driver::Sharing& sharing = *driver_.sharing;
  cuda::Allocation allocation{};
  Status status = sharing.mem_import_from_shareable_handle(
      &allocation, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
      cuda::kHandleIsDescriptor);
  if (status != Status::kSuccess) return status;
  cuda::Address at{};
  status = sharing.mem_address_reserve(&at, memory.size, 0, 0, 0);
  if (status == Status::kSuccess) {
    status = sharing.mem_map(at, memory.size, 0, allocation, 0);
    if (status == Status::kSuccess) {
      const cuda::AccessRight right{.location_type = cuda::kLocationIsDevice,
                                    .location = device,
                                    .flags = cuda::kReadAndWrite};
      status = sharing.mem_set_access(at, memory.size, &right, 1);
      if (status != Status::kSuccess) (void)sharing.mem_unmap(at, memory.size);
    }
    if (status != Status::kSuccess) (void)sharing.mem_address_free(at, memory.size);
  }
  if (status != Status::kSuccess) {
    (void)sharing.mem_release(allocation);
    return status;
  }
  memory.address = at;
  memory.allocation = allocation;
  return status;
}

bool Imports::is_busy(const Memory& memory) {
  const std::scoped_lock guard{guard_};
  return memory.copies > 0;
}

void Imports::close(std::uint64_t address, const std::function<void()>& meanwhile) {
  std::unique_ptr<Memory> memory;
  {
    const std::scoped_lock guard{guard_};
    const auto found = std::ranges::find_if(
        all_, [&](const std::unique_ptr<Memory>& one) { return one->address == address; });
    if (found == all_.end()) return;
    memory = std::move(*found);
    all_.erase(found);
  }
  while (is_busy(*memory)) meanwhile();
  const cuda::CurrentContext current{driver_, memory->context};
  const cuda::Driver::Sharing& sharing = *driver_.sharing;
  if (!memory->allocation) {
    (void)sharing.ipc_close_mem_handle(memory->address);
    return;
  }
  (void)sharing.mem_unmap(memory->address, memory->size);
  (void)sharing.mem_address_free(memory->address, memory->size);
  (void)sharing.mem_release(*memory->allocation);
}

Imports::Memory* Imports::enter(std::uint64_t address, std::uint64_t length) {
  const std::scoped_lock guard{guard_};
  for (const std::unique_ptr<Memory>& memory : all_) {
    if (address < memory->address || address - memory->address > memory->size ||
        length > memory->size - (address - memory->address)) {
      continue;
    }
    ++memory->copies;
    return memory.get();
  }
  return nullptr;
}

void Imports::leave(Memory& memory) {
  const std::scoped_lock guard{guard_};
  --memory.copies;
}

}  // namespace nerve::copier
