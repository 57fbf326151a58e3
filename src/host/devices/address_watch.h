// Notification from the kernel when addresses or interfaces change.
#pragma once

#include "link/descriptor.h"

namespace nerve::host {

// A netlink socket that is readable after a change. Invalid if the kernel refuses it; addresses
// then stay as they were when the process started.
[[nodiscard]] link::Descriptor watch_addresses();

// Discards pending messages, so that the descriptor is readable again only after the next change.
void drain_notifications(int descriptor);

}  // namespace nerve::host
