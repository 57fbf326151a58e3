// Devices that appear and disappear while identifiers use them.
#include <algorithm>

#include "nic/connection/connection_manager.h"
#include "rdmacm/registry.h"

namespace nerve::rdmacm {

using Session = host::Adapter::Session;

namespace {

// Wildcard listeners that are limited to one address family can share a port.
nic::CmFamily listens_to(const Identifier& id) {
  if (!id.local.is_any() || !id.options.one_family) return nic::CmFamily::kBoth;
  return id.local.address.is_ipv4() ? nic::CmFamily::kIpv4 : nic::CmFamily::kIpv6;
}

}  // namespace

int Registry::listen_at(const std::shared_ptr<Identifier>& id,
                        const std::vector<LocalPort>& ports) {
  for (const LocalPort& port : ports) {
    Session session{*port.adapter, Session::For::kControl};
    const std::scoped_lock guard{lock};
    if (ids.find(id->number) != id) return ENOENT;  // destroyed meanwhile
    const auto same = [&](const auto& one) { return one.first.adapter == port.adapter; };
    if (std::ranges::any_of(id->listens, same)) continue;
    const auto comm = session->cm().listen({.service = service_of(id->space, id->local.port),
                                            .address = port.gid,
                                            .any_of = listens_to(*id),
                                            .backlog = id->backlog});
    if (!comm) continue;
    id->listens.emplace_back(port, *comm);
    know(*id, port.adapter.get(), *comm);
  }
  const std::scoped_lock guard{lock};
  return id->listens.empty() && !ports.empty() ? EADDRINUSE : 0;
}

std::vector<std::shared_ptr<host::Adapter>> Registry::removed_devices() {
  std::vector<std::shared_ptr<host::Adapter>> lost;
  const std::scoped_lock one_at_a_time{making_};
  for (const auto& receiver : receivers_) {
    const std::uint32_t before =
        std::exchange(receiver->interface_index, receiver->adapter->interface_index());
    if (before != 0 && before != receiver->interface_index) lost.push_back(receiver->adapter);
  }
  return lost;
}

void Registry::remove_device(const std::shared_ptr<host::Adapter>& adapter) {
  Session session{*adapter, Session::For::kControl};
  const std::scoped_lock guard{lock};
  const auto end = [&](nic::CommHandle comm) {
    forget(adapter.get(), comm);
    (void)session->cm().destroy(comm);
  };
  for (const auto& [number, id] : ids.all()) {
    std::erase_if(id->listens, [&](const auto& listens) {
      if (listens.first.adapter != adapter) return false;
      end(listens.second);
      return true;
    });
    if (id->port.adapter != adapter || id->removed) continue;
    if (id->comm) end(std::exchange(id->comm, {}));
    port_uses.end_request(*id);
    id->removed = true;
    post_event(*id, EventKind::kDeviceRemoval);
  }
}

void Registry::on_devices_changed() {
  for (const auto& adapter : removed_devices()) remove_device(adapter);
  std::vector<std::shared_ptr<Identifier>> wildcards;
  {
    const std::scoped_lock guard{lock};
    for (const auto& [number, id] : ids.all()) {
      if (id->state == IdState::kListening && !id->port.adapter) wildcards.push_back(id);
    }
  }
  if (wildcards.empty()) return;
  const std::vector<LocalPort> ports = all_ports();
  for (const auto& id : wildcards) (void)listen_at(id, ports);
}

}  // namespace nerve::rdmacm
