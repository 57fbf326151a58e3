// Memory regions (ibv_reg_mr and related calls).
#include "verbs/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "base/memory_port.h"
#include "verbs/registration.h"

namespace nerve::verbs {
namespace {

class NullPort final : public MemoryPort {
 public:
  void read(std::uint64_t /*address*/, MutableBytes into) override {
    std::memset(into.data(), 0, into.size());
  }
  void write(std::uint64_t /*address*/, Bytes /*from*/) override {}
  std::uint64_t compare_swap(std::uint64_t /*address*/, std::uint64_t /*expected*/,
                             std::uint64_t /*desired*/) override {
    return 0;
  }
  std::uint64_t fetch_add(std::uint64_t /*address*/, std::uint64_t /*addend*/) override {
    return 0;
  }
  void store_word(std::uint64_t /*address*/, std::uint64_t /*value*/) override {}
};

nic::MrInit region_at(void* address, std::size_t length, std::uint64_t iova, unsigned access,
                      const Backing& backing) {
  return {.pd = {},
          .address = reinterpret_cast<std::uint64_t>(address),
          .length = length,
          .iova = iova,
          .access = static_cast<nic::Access>(access),
          .port = backing.port()};
}

void take_keys(VerbsMr& mr, const nic::MrKeys& keys) {
  mr.mr.lkey = keys.lkey.value();
  mr.mr.rkey = keys.rkey.value();
}

void retire(VerbsMr& mr) {
  remove_live(&mr);
  mr.device_memory.reset();
  mr.gpu.reset();
  free_later(mr);
}

// Memory that reads as zero and discards writes.
MemoryPort& nowhere() {
  static NullPort port;
  return port;
}

}  // namespace

ibv_mr* register_region(ibv_pd* pd, nic::MrInit init, MrKind kind, void* address,
                        std::shared_ptr<DeviceMemory> device_memory,
                        std::shared_ptr<GpuRegion> gpu) {
  if (const int error = check_live(pd); error != 0) return none(error);
  VerbsContext& owner = ours(pd->context);
  auto made = std::unique_ptr<VerbsMr>{new (std::nothrow) VerbsMr};
  if (!made) return none(ENOMEM);
  init.pd = ours(pd).handle;
  {
    const Session session{*owner.adapter, Session::For::kMemory};
    const auto handle = session->register_mr(init);
    if (!handle) return none(refused(pd->context, handle.error()));
    made->handle = *handle;
    take_keys(*made, *session->keys_of(*handle));
  }
  made->pd = init.pd;
  made->kind = kind;
  made->device_memory = std::move(device_memory);
  made->gpu = std::move(gpu);
  made->mr.context = pd->context;
  made->mr.pd = pd;
  made->mr.addr = address;
  made->mr.length = kind == MrKind::kNull ? 0 : init.length;
  made->mr.handle = made->handle.index;
  const std::scoped_lock guard{owner.exports->lock};
  owner.exports->mrs[made->mr.handle] = made.get();
  add_live(made->mr);
  return &made.release()->mr;
}

ibv_mr* alloc_null_mr(ibv_pd* pd) noexcept {
  const nic::MrInit everything{.pd = {},
                               .address = 0,
                               .length = ~std::uint64_t{0},
                               .iova = 0,
                               .access = nic::Access::kLocalWrite,
                               .port = &nowhere()};
  return register_region(pd, everything, MrKind::kNull, nullptr, nullptr);
}

// Advice to prefault pages needs no action, because the engine can access any mapped page. It only
// checks that the ranges belong to the program's regions.
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
              std::uint32_t count) noexcept {
  if (const int error = check_live(pd); error != 0) return fail(error);
  switch (advice) {
    case IBV_ADVISE_MR_ADVICE_PREFETCH:
    case IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE:
    case IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
      break;
    default:
      return fail(EOPNOTSUPP);
  }
  if ((flags & ~std::uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}) != 0) return fail(EOPNOTSUPP);
  if (count == 0 || list == nullptr) return fail(EINVAL);
  Exports& exports = *ours(pd->context).exports;
  const std::scoped_lock guard{exports.lock};
  for (std::uint32_t i = 0; i < count; ++i) {
    bool known = false;
    for (const auto& [handle, mr] : exports.mrs) {
      known = known || (mr->mr.lkey == list[i].lkey && mr->pd == ours(pd).handle);
    }
    if (!known) return fail(ENOENT);
  }
  return 0;
}

}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, size_t length, uint64_t iova,
                         unsigned int access) VERBS_NOEXCEPT {
  Backing backing = find_backing(pd, address, length, access);
  if (backing.error != 0) return none(backing.error);
  const nic::MrInit init = region_at(address, length, iova, access, backing);
  return register_region(pd, init, MrKind::kHost, address, nullptr, std::move(backing.gpu));
}

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) VERBS_NOEXCEPT {
  return ibv_reg_mr_iova2(pd, address, length, reinterpret_cast<uint64_t>(address),
                          static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* address, size_t length, uint64_t iova,
                        int access) VERBS_NOEXCEPT {
  return ibv_reg_mr_iova2(pd, address, length, iova, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                          int access) VERBS_NOEXCEPT {
  return register_dmabuf(pd, offset, length, iova, fd, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* attr) VERBS_NOEXCEPT {
  const uint64_t mask = attr->comp_mask;
  if ((mask & ~uint64_t{IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_FD |
                        IBV_REG_MR_MASK_FD_OFFSET}) != 0) {
    return none(EOPNOTSUPP);
  }
  if ((mask & IBV_REG_MR_MASK_FD) != 0) {
    const bool has_offset = (mask & IBV_REG_MR_MASK_FD_OFFSET) != 0;
    return register_dmabuf(pd, has_offset ? attr->fd_offset : 0, attr->length,
                           (mask & IBV_REG_MR_MASK_IOVA) != 0 ? attr->iova : 0, attr->fd,
                           static_cast<unsigned>(attr->access));
  }
  if ((mask & IBV_REG_MR_MASK_ADDR) == 0) return none(EINVAL);
  const bool has_iova = (mask & IBV_REG_MR_MASK_IOVA) != 0;
  return ibv_reg_mr_iova2(pd, attr->addr, attr->length,
                          has_iova ? attr->iova : reinterpret_cast<uint64_t>(attr->addr),
                          static_cast<unsigned>(attr->access));
}

int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, size_t length,
                 int access) VERBS_NOEXCEPT {
  const auto bad_input = [] {
    errno = EINVAL;
    return static_cast<int>(IBV_REREG_MR_ERR_INPUT);
  };
  // Errors that libibverbs leaves to the kernel are command errors. The manual allows the region to
  // be lost after one; here the engine validates everything first, so the region remains unchanged.
  const auto refused_command = [](int error) {
    errno = error;
    return static_cast<int>(IBV_REREG_MR_ERR_CMD);
  };
  if (const int error = check_live(mr); error != 0) return refused_command(error);
  VerbsMr& region = ours(mr);
  const bool translation = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  if (region.kind != MrKind::kHost) return bad_input();
  if ((flags & ~static_cast<int>(IBV_REREG_MR_FLAGS_SUPPORTED)) != 0) return bad_input();
  if (translation && (address == nullptr || length == 0)) return bad_input();
  if (access != 0 && (flags & IBV_REREG_MR_CHANGE_ACCESS) == 0) return bad_input();
  const bool moves = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  if (moves && pd == nullptr) return bad_input();
  if (const int error = moves ? check_live(pd) : 0; error != 0) return refused_command(error);

  Backing backing;
  if (translation) {
    backing = find_backing(mr->pd, address, length, static_cast<unsigned>(access));
  } else if (region.gpu && (access & IBV_ACCESS_ON_DEMAND) != 0) {
    backing.error = EOPNOTSUPP;
  }
  if (backing.error != 0) return refused_command(backing.error);
  nic::MrInit wanted = region_at(address, length, reinterpret_cast<std::uint64_t>(address),
                                 static_cast<unsigned>(access), backing);
  if (moves) wanted.pd = ours(pd).handle;
  const Session session{*ours(mr->context).adapter, Session::For::kAll};
  const auto changed =
      session->reregister_mr(region.handle, static_cast<nic::MrChange>(flags), wanted);
  if (!changed) return refused_command(refused(mr->context, changed.error()));
  take_keys(region, *session->keys_of(region.handle));
  if (moves) {
    mr->pd = pd;
    region.pd = wanted.pd;
  }
  if (translation) {
    mr->addr = address;
    mr->length = length;
    region.gpu.swap(backing.gpu);  // the old one is removed after the session
  }
  return 0;
}

int ibv_dereg_mr(ibv_mr* mr) VERBS_NOEXCEPT {
  if (const int error = check_live(mr); error != 0) return fail(error);
  VerbsMr& region = ours(mr);
  VerbsContext& owner = ours(mr->context);
  const std::scoped_lock guard{owner.exports->lock};
  {
    Session session{*owner.adapter, Session::For::kObjects};
    const auto revoked = session->revoke_mr(region.handle);
    if (!revoked) return refused(mr->context, revoked.error());
    session.let_users_leave();
  }
  (void)Session(*owner.adapter, Session::For::kMemory)->deregister_mr(region.handle);
  owner.exports->mrs.erase(mr->handle);
  retire(region);
  return 0;
}

ibv_mr* ibv_import_mr(ibv_pd* pd, uint32_t handle) VERBS_NOEXCEPT {
  if (const int error = check_live(pd); error != 0) return none(error);
  Exports& exports = *ours(pd->context).exports;
  const std::scoped_lock guard{exports.lock};
  const auto found = exports.mrs.find(handle);
  if (found == exports.mrs.end()) return none(ENOENT);
  auto* imported = new (std::nothrow) VerbsMr;
  if (imported == nullptr) return none(ENOMEM);
  *imported = *found->second;
  imported->mr.context = pd->context;
  imported->mr.pd = pd;
  add_live(imported->mr);
  return &imported->mr;
}

void ibv_unimport_mr(ibv_mr* mr) VERBS_NOEXCEPT {
  if (check_live(mr) == 0) retire(ours(mr));
}

}  // extern "C"
