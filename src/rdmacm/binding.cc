// Addresses: binding, resolving, listening.
#include "rdmacm/command.h"

namespace nerve::rdmacm {
namespace {

int bind_to(const Command& command, const std::shared_ptr<Identifier>& id, Bytes sockaddr) {
  const auto wanted = read_address(sockaddr);
  if (!wanted) return why_no_address(sockaddr);
  LocalPort port;
  if (!wanted->is_any()) {
    if (const int error = command.registry.find_port(*wanted, port); error != 0) {
      return error == ENODEV ? EADDRNOTAVAIL : error;
    }
  }
  host::PortSpace* const ports = command.registry.port_space();
  if (ports == nullptr) return errno;
  const std::scoped_lock guard{command.registry.lock};
  if (id->state != IdState::kIdle) return EINVAL;
  id->local = *wanted;
  if (const int error = command.registry.port_uses.take(*ports, *id); error != 0) return error;
  id->state = IdState::kBound;
  id->port = port;
  return 0;
}

// The local address for a conversation with `to`. Returns zero or errno.
int find_own_address(const Identifier& id, const Endpoint& to, Endpoint& from) {
  from = id.local;
  if (id.port.adapter || !from.is_any()) return 0;
  if (!to.is_loopback()) return find_source(to, from);
  from.address = to.address;
  return 0;
}

int resolve_to(const Command& command, const std::shared_ptr<Identifier>& id, Bytes source,
               Bytes destination) {
  const auto to = read_address(destination);
  if (!to) return why_no_address(destination);
  if (to->is_any()) return EINVAL;
  // Bind to the source address that the program gave, or to the wildcard.
  const auto asked = read_address(source);
  if (id->state == IdState::kIdle) {
    if (asked && asked->address.is_ipv4() != to->address.is_ipv4()) return EINVAL;
    sockaddr_in6 name{};
    Endpoint own = asked.value_or(Endpoint{});
    if (!asked && to->address.is_ipv4()) own.address = wire::Gid::ipv4(0, 0, 0, 0);
    write_address(own, name);
    const Bytes bytes{reinterpret_cast<const std::byte*>(&name), sizeof name};
    if (const int error = bind_to(command, id, bytes); error != 0) return error;
  }
  if (id->local.address.is_ipv4() != to->address.is_ipv4()) return EINVAL;
  Endpoint from;
  if (const int error = find_own_address(*id, *to, from); error != 0) return error;
  LocalPort port = id->port;
  const int error = port.adapter ? 0 : command.registry.find_port(from, port);
  const std::scoped_lock guard{command.registry.lock};
  if (id->state != IdState::kBound) return EINVAL;
  // From here on errors are reported by events, as for everything that may take long.
  if (error != 0) {
    command.registry.post_event(*id, EventKind::kAddressError, -error);
    return 0;
  }
  id->local.address = from.address;
  id->local.scope = from.scope;
  id->port = port;
  id->remote = *to;
  // The loopback address stands for the device that was chosen for it.
  id->remote_gid = to->is_loopback() && port.gid != from.address ? port.gid : to->address;
  id->state = IdState::kAddressResolved;
  command.registry.post_event(*id, EventKind::kAddressResolved);
  return 0;
}

}  // namespace

int bind_ip(const Command& command) {
  rdma_ucm_bind_ip body;
  if (!command.read(body)) return EINVAL;
  const auto id = command.id(body.id);
  return id ? bind_to(command, *id, bytes_of(body.addr)) : id.error();
}

int bind_address(const Command& command) {
  rdma_ucm_bind body;
  if (!command.read(body) || body.addr_size > sizeof body.addr) return EINVAL;
  const auto id = command.id(body.id);
  return id ? bind_to(command, *id, bytes_of(body.addr).first(body.addr_size)) : id.error();
}

int resolve_ip(const Command& command) {
  rdma_ucm_resolve_ip body;
  if (!command.read(body)) return EINVAL;
  const auto id = command.id(body.id);
  return id ? resolve_to(command, *id, bytes_of(body.src_addr), bytes_of(body.dst_addr))
            : id.error();
}

int resolve_address(const Command& command) {
  rdma_ucm_resolve_addr body;
  if (!command.read(body)) return EINVAL;
  if (body.src_size > sizeof body.src_addr || body.dst_size > sizeof body.dst_addr) return EINVAL;
  const auto id = command.id(body.id);
  return id ? resolve_to(command, *id, bytes_of(body.src_addr).first(body.src_size),
                         bytes_of(body.dst_addr).first(body.dst_size))
            : id.error();
}

int resolve_route(const Command& command) {
  rdma_ucm_resolve_route body;
  if (!command.read(body)) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const auto& id = *found;
  const std::scoped_lock guard{command.registry.lock};
  if (id->state != IdState::kAddressResolved) return EINVAL;
  id->state = IdState::kRouteResolved;
  command.registry.post_event(*id, EventKind::kRouteResolved);
  return 0;
}

int resolve_ib_service(const Command& command) {
  rdma_ucm_resolve_route body;  // only its first word is present
  if (!command.read(body, sizeof body.id)) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const std::scoped_lock guard{command.registry.lock};
  // This would have to ask the subnet administrator of an InfiniBand subnet.
  return (*found)->state == IdState::kAddressResolved ? EOPNOTSUPP : EINVAL;
}

int listen(const Command& command) {
  rdma_ucm_listen body;
  if (!command.read(body)) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const auto& id = *found;
  if (id->state == IdState::kIdle) {
    const sockaddr_in any{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
    if (const int error = bind_to(command, id, bytes_of(any)); error != 0) return error;
  }
  std::vector<LocalPort> ports;
  {
    const std::scoped_lock guard{command.registry.lock};
    if (id->state != IdState::kBound) return EINVAL;
    id->state = IdState::kListening;
    if (command.registry.port_uses.clashes(*id)) {
      id->state = IdState::kBound;
      return EADDRINUSE;
    }
    id->backlog = body.backlog;
    if (id->port.adapter) ports.push_back(id->port);
  }
  if (ports.empty()) ports = command.registry.all_ports();
  const int error = command.registry.listen_at(id, ports);
  if (error != 0) id->state = IdState::kBound;
  return error;
}

}  // namespace nerve::rdmacm
