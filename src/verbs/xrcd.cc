// XRC domains. Those opened with the same file by this process share one domain.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "verbs/srq.h"

namespace nerve::verbs {

struct SharedXrcd {
  const host::Adapter* adapter{};
  dev_t device{};
  ino_t file{};
  nic::XrcdHandle handle{};
};

namespace {

struct XrcdRegistry {
  std::mutex lock;
  std::vector<std::weak_ptr<SharedXrcd>> open;
};

XrcdRegistry& xrcd_registry() {
  static XrcdRegistry* const only = new XrcdRegistry;
  return *only;
}

// Called with the registry's lock held.
std::shared_ptr<SharedXrcd> find(const host::Adapter* adapter, const struct stat& file) {
  std::erase_if(xrcd_registry().open, [](const auto& known) { return known.expired(); });
  for (const auto& known : xrcd_registry().open) {
    auto shared = known.lock();
    if (shared && shared->adapter == adapter && shared->device == file.st_dev &&
        shared->file == file.st_ino) {
      return shared;
    }
  }
  return nullptr;
}

ibv_xrcd* open_private(ibv_context* context, VerbsXrcd& xrcd) {
  const auto handle = Session(*ours(context).adapter, Session::For::kObjects)->alloc_xrcd();
  if (!handle) return none(refused(context, handle.error()));
  xrcd.handle = *handle;
  return &xrcd.xrcd;
}

ibv_xrcd* open_shared(ibv_context* context, VerbsXrcd& xrcd, int fd, int flags) {
  struct stat file {};
  if (::fstat(fd, &file) != 0) return none(EBADF);
  host::Adapter* adapter = ours(context).adapter.get();
  const std::scoped_lock guard{xrcd_registry().lock};
  if (auto known = find(adapter, file)) {
    if ((flags & O_EXCL) != 0) return none(EINVAL);
    xrcd.handle = known->handle;
    xrcd.shared = std::move(known);
    return &xrcd.xrcd;
  }
  if ((flags & O_CREAT) == 0) return none(EAGAIN);  // the kernel's errno for this
  if (open_private(context, xrcd) == nullptr) return nullptr;
  xrcd.shared =
      std::make_shared<SharedXrcd>(SharedXrcd{adapter, file.st_dev, file.st_ino, xrcd.handle});
  xrcd_registry().open.push_back(xrcd.shared);
  return &xrcd.xrcd;
}

}  // namespace

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attr) noexcept {
  if (const int error = check_live(context); error != 0) return none(error);
  constexpr std::uint32_t kBoth = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if ((attr->comp_mask & ~kBoth) != 0) return none(EOPNOTSUPP);
  if ((attr->comp_mask & kBoth) != kBoth) return none(EINVAL);
  auto made = std::unique_ptr<VerbsXrcd>{new (std::nothrow) VerbsXrcd};
  if (!made) return none(ENOMEM);
  made->xrcd.context = context;
  ibv_xrcd* opened = nullptr;
  if (attr->fd != -1) {
    opened = open_shared(context, *made, attr->fd, attr->oflags);
  } else if ((attr->oflags & O_CREAT) != 0) {
    opened = open_private(context, *made);
  } else {
    return none(EINVAL);  // neither a file nor O_CREAT
  }
  if (opened == nullptr) return nullptr;
  add_live(made.release()->xrcd);
  return opened;
}

nic::Status leave_xrcd(host::Adapter& adapter, VerbsXrcd& xrcd) {
  const std::scoped_lock guard{xrcd_registry().lock};
  if (xrcd.shared == nullptr || xrcd.shared.use_count() == 1) {
    if (const auto gone = Session(adapter, Session::For::kObjects)->dealloc_xrcd(xrcd.handle);
        !gone)
      return gone;
  }
  xrcd.shared.reset();
  return nic::Done{};
}

int close_xrcd(ibv_xrcd* xrcd) noexcept {
  if (const int error = check_live(xrcd); error != 0) return fail(error);
  VerbsXrcd& mine = ours(xrcd);
  const nic::Status gone = leave_xrcd(*ours(xrcd->context).adapter, mine);
  if (!gone) return refused(xrcd->context, gone.error());
  remove_live(xrcd);
  free_later(mine);
  return 0;
}

}  // namespace nerve::verbs
