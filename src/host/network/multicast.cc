// Multicast groups: the process's own socket is in those that QPs of its adapters are attached to.
#include <algorithm>
#include <cerrno>

#include "host/diagnostics/log.h"
#include "host/shared.h"

namespace nerve::host {

int Host::Shared::follow_groups() {
  std::vector<JoinedGroup> wanted;
  for (const Adapter::State* adapter : adapters) {
    if (adapter->interface_index == 0) continue;
    for (const wire::Gid& group : adapter->nic.multicast_groups()) {
      wanted.push_back({.group = group, .interface = adapter->interface_index});
    }
  }
  if (left_to_parent || wanted == joined_groups) return 0;
  if (!udp) {
    log(LogLevel::kWarn, "multicast cannot be received: it comes by udp only, and %s",
        why_no_udp());
    return EOPNOTSUPP;
  }
  link::UdpReceiver& receiver = udp->receiver();
  std::erase_if(joined_groups, [&](const JoinedGroup& known) {
    if (std::ranges::find(wanted, known) != wanted.end()) return false;
    (void)receiver.leave(known.group, known.interface);
    return true;
  });
  int refused = 0;
  for (const JoinedGroup& group : wanted) {
    if (std::ranges::find(joined_groups, group) != joined_groups.end()) continue;
    const int error = receiver.join(group.group, group.interface);
    // One who had this socket before us, or has it as well, may have joined and not left.
    if (error == 0 || error == EADDRINUSE) {
      joined_groups.push_back(group);
    } else {
      refused = error;
    }
  }
  return refused;
}

}  // namespace nerve::host
