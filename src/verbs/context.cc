// Opening and closing devices.
#include "verbs/context.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>

#include "host/host.h"

namespace nerve::verbs {
namespace {

ibv_context* open_context(VerbsDevice& device, std::shared_ptr<Exports> exports) {
  auto context = std::make_unique<VerbsContext>();
  if (context->async.fd() < 0 || !exports) return none(EMFILE);
  context->adapter = host::Host::current().open(device.info);
  if (!context->adapter) return none(errno);
  // Imported contexts share the file but not the descriptor, so that each closes its own.
  const int cmd_fd = ::fcntl(exports->fd(), F_DUPFD_CLOEXEC, 0);
  if (cmd_fd < 0) return none(EMFILE);
  context->exports = std::move(exports);
  context->device = &device;
  retain(device);

  verbs_context& face = context->face;
  face.sz = sizeof face;
  face.context.device = &device.device;
  face.context.cmd_fd = cmd_fd;
  face.context.async_fd = context->async.fd();
  face.context.num_comp_vectors = 1;
  face.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  ::pthread_mutex_init(&face.context.mutex, nullptr);
  set_calls(face);
  context->adapter->listen(context->port_events);
  ibv_context* const opened = &context.release()->face.context;
  add_live({opened, ObjectKind::kContext, opened, 0});
  return opened;
}

}  // namespace

void PortEvents::on_event(const nic::Event& event) {
  owner.async.push({.type = event_type(event.kind), .element = nullptr, .reported = nullptr});
}

}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

ibv_context* ibv_open_device(ibv_device* device) VERBS_NOEXCEPT {
  VerbsDevice& opened = ours(device);
  return open_context(opened, Exports::create(opened.info.name));
}

ibv_context* ibv_import_device(int cmd_fd) VERBS_NOEXCEPT {
  std::shared_ptr<Exports> exports = Exports::find(cmd_fd);
  if (!exports) return none(EBADF);
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (list == nullptr) return nullptr;
  ibv_context* context = nullptr;
  errno = ENODEV;
  for (int i = 0; i < count; ++i) {
    if (exports->device_name() != list[i]->name) continue;
    context = open_context(ours(list[i]), std::move(exports));
    break;
  }
  ibv_free_device_list(list);
  return context;
}

int ibv_close_device(ibv_context* context) VERBS_NOEXCEPT {
  if (const int error = check_live(context); error != 0) return fail(error);
  VerbsContext& closing = ours(context);
  closing.adapter->unlisten(closing.port_events);
  destroy_leftovers(closing);
  ::close(context->cmd_fd);
  ::pthread_mutex_destroy(&context->mutex);
  VerbsDevice& device = *closing.device;
  delete &closing;
  release(device);
  return 0;
}

}  // extern "C"
