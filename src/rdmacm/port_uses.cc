#include "rdmacm/port_uses.h"

#include <algorithm>
#include <cerrno>

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

// True if two identifiers bound to one port conflict.
bool clash(const Identifier& a, const Identifier& b) {
  const bool both_listen = a.state == IdState::kListening && b.state == IdState::kListening;
  if (a.options.reuse_address && b.options.reuse_address && !both_listen) return false;
  // Wildcards of different families conflict, unless one of them is limited to its family.
  const bool families_apart =
      a.local.address.is_ipv4() != b.local.address.is_ipv4() &&
      (a.options.one_family || b.options.one_family || !(a.local.is_any() || b.local.is_any()));
  if (families_apart) return false;
  return a.local.is_any() || b.local.is_any() || a.local.address == b.local.address;
}

}  // namespace

PortUses::Key PortUses::key_of(const Identifier& id) { return {space_of(id.space), id.local.port}; }

int PortUses::take(host::PortSpace& ports, Identifier& id) {
  ports_ = &ports;
  const host::PortSpace::Space space = space_of(id.space);
  if (id.local.port == 0) {
    const auto any = ports.bind_any(space);
    if (!any) return EADDRNOTAVAIL;
    id.local.port = *any;
  } else if (const int error = ports.bind(space, id.local.port); error != 0) {
    return error;
  }
  // If it conflicts with another identifier of ours, the process keeps the port for that one.
  if (clashes(id)) return EADDRINUSE;
  uses_[key_of(id)].bound.push_back(&id);
  id.holds_port = true;
  return 0;
}

bool PortUses::clashes(const Identifier& id) const {
  const auto it = uses_.find(key_of(id));
  return it != uses_.end() && std::ranges::any_of(it->second.bound, [&](const Identifier* other) {
           return other != &id && clash(*other, id);
         });
}

void PortUses::give_back(Identifier& id) {
  if (!std::exchange(id.holds_port, false)) return;
  const Key key = key_of(id);
  std::erase(uses_[key].bound, &id);
  settle(key);
}

void PortUses::begin_request(Identifier& id) {
  id.asked_at_port = true;
  ++uses_[key_of(id)].requests;
}

void PortUses::end_request(Identifier& id) {
  if (!std::exchange(id.asked_at_port, false)) return;
  const Key key = key_of(id);
  --uses_[key].requests;
  settle(key);
}

void PortUses::settle(const Key& key) {
  const auto it = uses_.find(key);
  const Uses& uses = it->second;
  if (!uses.bound.empty()) return;
  if (uses.requests > 0) {
    ports_->linger(key.first, key.second);
  } else {
    ports_->release(key.first, key.second);
    uses_.erase(it);
  }
}

}  // namespace nerve::rdmacm
