// Device memory (ibv_alloc_dm): accessed by offset, through work requests and the copy calls.
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "verbs/registration.h"

namespace nerve::verbs {
namespace {

std::atomic<std::size_t> allocated{};

bool within(const DeviceMemory& memory, std::uint64_t offset, std::size_t length) {
  return offset <= memory.size && length <= memory.size - offset;
}

// Device memory is accessed in words of four bytes, as on hardware.
bool may_copy(const DeviceMemory* memory, std::uint64_t offset, std::size_t length) {
  constexpr std::uint64_t kWord = 4;
  if (memory == nullptr) return false;  // freed
  return offset % kWord == 0 && length % kWord == 0 && within(*memory, offset, length);
}

int copy_in(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t length) noexcept {
  const DeviceMemory* memory = ours(dm).memory.get();
  if (!may_copy(memory, offset, length)) return EINVAL;
  std::memcpy(memory->bytes + offset, from, length);
  return 0;
}

int copy_out(void* to, ibv_dm* dm, std::uint64_t offset, std::size_t length) noexcept {
  const DeviceMemory* memory = ours(dm).memory.get();
  if (!may_copy(memory, offset, length)) return EINVAL;
  std::memcpy(to, memory->bytes + offset, length);
  return 0;
}

VerbsDm* make_dm(ibv_context* context, std::shared_ptr<DeviceMemory> memory) {
  auto* made = new (std::nothrow) VerbsDm;
  if (made == nullptr) return nullptr;
  made->dm.context = context;
  made->dm.memcpy_to_dm = copy_in;
  made->dm.memcpy_from_dm = copy_out;
  made->dm.comp_mask = IBV_DM_MASK_HANDLE;
  made->memory = std::move(memory);
  return made;
}

void retire(VerbsDm& dm) {
  remove_live(&dm);
  dm.memory.reset();
  free_later(dm);
}

}  // namespace

DeviceMemory::DeviceMemory(std::size_t length, std::size_t alignment) {
  if (allocated.fetch_add(length) + length > kMaxDeviceMemory) {
    allocated.fetch_sub(length);
    return;
  }
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment, length) != 0) {
    allocated.fetch_sub(length);
    return;
  }
  std::memset(memory, 0, length);
  bytes = static_cast<std::byte*>(memory);
  size = length;
}

DeviceMemory::~DeviceMemory() {
  allocated.fetch_sub(size);
  std::free(bytes);
}

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr) noexcept {
  constexpr std::uint32_t kMaxLogAlign = 20;
  if (const int error = check_live(context); error != 0) return none(error);
  if (attr->comp_mask != 0) return none(EOPNOTSUPP);
  if (attr->length == 0 || attr->log_align_req > kMaxLogAlign) return none(EINVAL);
  if (attr->length > kMaxDeviceMemory) return none(ENOMEM);
  const std::size_t alignment = std::max(std::size_t{1} << attr->log_align_req, std::size_t{64});
  auto memory = std::make_shared<DeviceMemory>(attr->length, alignment);
  if (memory->bytes == nullptr) return none(ENOMEM);
  VerbsDm* made = make_dm(context, std::move(memory));
  if (made == nullptr) return none(ENOMEM);
  Exports& exports = *ours(context).exports;
  const std::scoped_lock guard{exports.lock};
  std::uint32_t number = 0;
  while (exports.dms.contains(number)) ++number;
  made->dm.handle = number;
  exports.dms[number] = made;
  add_live(made->dm);
  return &made->dm;
}

int free_dm(ibv_dm* dm) noexcept {
  if (const int error = check_live(dm); error != 0) return fail(error);
  VerbsDm& mine = ours(dm);
  Exports& exports = *ours(dm->context).exports;
  const std::scoped_lock guard{exports.lock};
  for (const auto& [handle, mr] : exports.mrs) {
    if (mr->device_memory == mine.memory) return fail(EBUSY);
  }
  exports.dms.erase(dm->handle);
  retire(mine);
  return 0;
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                  unsigned int access) noexcept {
  if (const int error = check_live(pd, dm); error != 0) return none(error);
  const VerbsDm& mine = ours(dm);
  // Device memory has offsets instead of addresses.
  if ((access & IBV_ACCESS_ZERO_BASED) == 0) return none(EINVAL);
  if (!within(*mine.memory, offset, length)) return none(EINVAL);
  const nic::MrInit init{.pd = {},
                         .address = reinterpret_cast<std::uint64_t>(mine.memory->bytes) + offset,
                         .length = length,
                         .iova = 0,
                         .access = static_cast<nic::Access>(access),
                         .port = nullptr};
  return register_region(pd, init, MrKind::kDevice, nullptr, mine.memory);
}

}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

ibv_dm* ibv_import_dm(ibv_context* context, uint32_t handle) VERBS_NOEXCEPT {
  if (const int error = check_live(context); error != 0) return none(error);
  Exports& exports = *ours(context).exports;
  const std::scoped_lock guard{exports.lock};
  const auto found = exports.dms.find(handle);
  if (found == exports.dms.end()) return none(ENOENT);
  VerbsDm* imported = make_dm(context, found->second->memory);
  if (imported == nullptr) return none(ENOMEM);
  imported->dm.handle = handle;
  add_live(imported->dm);
  return &imported->dm;
}

void ibv_unimport_dm(ibv_dm* dm) VERBS_NOEXCEPT {
  if (check_live(dm) == 0) retire(ours(dm));
}

int ibv_dm_export_dmabuf_fd(ibv_dm* /*dm*/) VERBS_NOEXCEPT {
  errno = EOPNOTSUPP;
  return -1;
}

}  // extern "C"
