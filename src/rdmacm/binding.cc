// Addresses: taken, looked up, listened at.
#include <algorithm>

#include "nic/connection/connection_manager.h"
#include "rdmacm/command.h"

namespace nerve::rdmacm {
namespace {

host::PortSpace::Space space_of(Space space) {
  switch (space) {
    case Space::kTcp:
      return host::PortSpace::Space::kTcp;
    case Space::kUdp:
    case Space::kIpoib:
      return host::PortSpace::Space::kUdp;
    case Space::kIb:
      break;
  }
  return host::PortSpace::Space::kIb;
}

// Whether two identifiers of this process want the same.
bool clash(const Identifier& a, const Identifier& b) {
  if (!a.holds_port || !b.holds_port || a.local.port != b.local.port) return false;
  if (space_of(a.space) != space_of(b.space)) return false;
  const bool both_listen = a.state == IdState::kListening && b.state == IdState::kListening;
  if (a.options.reuse_address && b.options.reuse_address && !both_listen) return false;
  // Two wildcards of different families are one, unless one of them says that it is not.
  const bool families_apart =
      a.local.address.is_ipv4() != b.local.address.is_ipv4() &&
      (a.options.one_family || b.options.one_family || !(a.local.is_any() || b.local.is_any()));
  if (families_apart) return false;
  return a.local.is_any() || b.local.is_any() || a.local.address == b.local.address;
}

bool clashes(const Registry& registry, const Identifier& id) {
  return std::ranges::any_of(registry.ids.all(), [&](const auto& other) {
    return other.second.get() != &id && clash(*other.second, id);
  });
}

// Takes the port that `id.local` names, or any. Zero or errno.
int take_port(Registry& registry, Identifier& id) {
  host::PortSpace* const ports = registry.port_space();
  if (ports == nullptr) return errno;
  const host::PortSpace::Space space = space_of(id.space);
  std::uint16_t port = id.local.port;
  if (port == 0) {
    const auto any = ports->bind_any(space);
    if (!any) return EADDRNOTAVAIL;
    port = *any;
  } else if (const int error = ports->bind(space, port); error != 0) {
    return error;
  }
  const std::scoped_lock guard{registry.lock};
  const bool was_free = id.local.port == 0;  // of the whole host, so nobody here has it either
  id.local.port = port;
  id.holds_port = true;
  if (was_free || !clashes(registry, id)) return 0;
  id.holds_port = false;  // the process keeps it, for the other one
  return EADDRINUSE;
}

int bind_to(const Command& command, const std::shared_ptr<Identifier>& id, Octets sockaddr) {
  const auto wanted = read_address(sockaddr);
  if (!wanted) return EAFNOSUPPORT;
  LocalPort port;
  if (!wanted->is_any()) {
    if (const int error = command.registry.find_port(*wanted, port); error != 0) {
      return error == ENODEV ? EADDRNOTAVAIL : error;
    }
  }
  {
    const std::scoped_lock guard{command.registry.lock};
    if (id->state != IdState::kIdle) return EINVAL;
    id->state = IdState::kBound;
    id->local = *wanted;
    id->port = port;
  }
  const int error = take_port(command.registry, *id);
  if (error != 0) {
    const std::scoped_lock guard{command.registry.lock};
    id->state = IdState::kIdle;
    id->port = {};
  }
  return error;
}

// Who we are when we speak to `to`.
int find_own_address(const Command& command, const Identifier& id, const Endpoint& to,
                     Endpoint& from, LocalPort& port) {
  from = id.local;
  port = id.port;
  if (port.adapter) return 0;
  if (from.is_any()) {
    if (to.is_loopback()) {
      from.address = to.address;
    } else if (const int error = find_source(to, from); error != 0) {
      return error;
    }
  }
  return command.registry.find_port(from, port);
}

int resolve_to(const Command& command, const std::shared_ptr<Identifier>& id, Octets source,
               Octets destination) {
  const auto to = read_address(destination);
  if (!to) return EAFNOSUPPORT;
  if (to->is_any()) return EINVAL;
  if (id->state == IdState::kIdle) {
    // Bound to the source that the program asks for, or to any.
    const auto asked = read_address(source);
    sockaddr_in6 name{};
    Endpoint own = asked.value_or(Endpoint{});
    if (!asked && to->address.is_ipv4()) own.address = wire::Gid::ipv4(0, 0, 0, 0);
    write_address(own, name);
    const Octets octets{reinterpret_cast<const std::byte*>(&name), sizeof name};
    if (const int error = bind_to(command, id, octets); error != 0) return error;
  }
  Endpoint from;
  LocalPort port;
  const int error = find_own_address(command, *id, *to, from, port);
  const std::scoped_lock guard{command.registry.lock};
  if (id->state != IdState::kBound) return EINVAL;
  // From here on the program hears of errors by events, as of everything that may take long.
  if (error != 0) {
    command.registry.tell(*id, EventKind::kAddressError, -error);
    return 0;
  }
  id->local.address = from.address;
  id->local.scope = from.scope;
  id->port = port;
  id->remote = *to;
  // To speak to the loopback interface is to speak to the device that stands for it.
  id->remote_gid = to->is_loopback() && port.gid != from.address ? port.gid : to->address;
  id->state = IdState::kAddressResolved;
  command.registry.tell(*id, EventKind::kAddressResolved);
  return 0;
}

// Two wildcards that keep to their families may listen side by side at one port.
nic::CmFamily listens_to(const Identifier& id) {
  if (!id.local.is_any() || !id.options.one_family) return nic::CmFamily::kBoth;
  return id.local.address.is_ipv4() ? nic::CmFamily::kIpv4 : nic::CmFamily::kIpv6;
}

}  // namespace

void release_port(Registry& registry, const Identifier& id) {
  host::PortSpace* const ports = registry.port_space();
  if (ports == nullptr) return;
  const std::scoped_lock guard{registry.lock};
  const bool needed = std::ranges::any_of(registry.ids.all(), [&](const auto& other) {
    return other.second->holds_port && other.second->local.port == id.local.port &&
           space_of(other.second->space) == space_of(id.space);
  });
  if (!needed) ports->release(space_of(id.space), id.local.port);
}

int bind_ip(const Command& command) {
  rdma_ucm_bind_ip body;
  if (!command.read(body)) return EINVAL;
  const auto id = command.id(body.id);
  return id ? bind_to(command, id, octets_of(body.addr)) : ENOENT;
}

int bind_address(const Command& command) {
  rdma_ucm_bind body;
  if (!command.read(body) || body.addr_size > sizeof body.addr) return EINVAL;
  const auto id = command.id(body.id);
  return id ? bind_to(command, id, octets_of(body.addr).first(body.addr_size)) : ENOENT;
}

int resolve_ip(const Command& command) {
  rdma_ucm_resolve_ip body;
  if (!command.read(body)) return EINVAL;
  const auto id = command.id(body.id);
  return id ? resolve_to(command, id, octets_of(body.src_addr), octets_of(body.dst_addr)) : ENOENT;
}

int resolve_address(const Command& command) {
  rdma_ucm_resolve_addr body;
  if (!command.read(body)) return EINVAL;
  if (body.src_size > sizeof body.src_addr || body.dst_size > sizeof body.dst_addr) return EINVAL;
  const auto id = command.id(body.id);
  return id ? resolve_to(command, id, octets_of(body.src_addr).first(body.src_size),
                         octets_of(body.dst_addr).first(body.dst_size))
            : ENOENT;
}

int resolve_route(const Command& command) {
  rdma_ucm_resolve_route body;
  if (!command.read(body)) return EINVAL;
  const auto id = command.id(body.id);
  if (!id) return ENOENT;
  const std::scoped_lock guard{command.registry.lock};
  if (id->state != IdState::kAddressResolved) return EINVAL;
  id->state = IdState::kRouteResolved;
  command.registry.tell(*id, EventKind::kRouteResolved);
  return 0;
}

int listen(const Command& command) {
  rdma_ucm_listen body;
  if (!command.read(body)) return EINVAL;
  const auto id = command.id(body.id);
  if (!id) return ENOENT;
  if (id->state == IdState::kIdle) {
    const sockaddr_in any{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
    if (const int error = bind_to(command, id, octets_of(any)); error != 0) return error;
  }
  std::vector<LocalPort> ports;
  {
    const std::scoped_lock guard{command.registry.lock};
    if (id->state != IdState::kBound) return EINVAL;
    id->state = IdState::kListening;
    if (clashes(command.registry, *id)) {
      id->state = IdState::kBound;
      return EADDRINUSE;
    }
    if (id->port.adapter) ports.push_back(id->port);
  }
  if (ports.empty()) ports = command.registry.all_ports();
  for (const LocalPort& port : ports) {
    host::Adapter::Session session{*port.adapter};
    const auto comm = session->cm().listen({.service = service_of(id->space, id->local.port),
                                            .address = port.gid,
                                            .any_of = listens_to(*id),
                                            .backlog = body.backlog});
    if (!comm) continue;
    const std::scoped_lock guard{command.registry.lock};
    id->listens.emplace_back(port, *comm);
    command.registry.know(*id, port.adapter.get(), *comm);
  }
  return id->listens.empty() ? EADDRINUSE : 0;
}

}  // namespace nerve::rdmacm
