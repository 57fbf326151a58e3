// A device before it is opened.
#pragma once

#include <array>
#include <cstddef>

#include "host/devices/device.h"
#include "verbs/api.h"

namespace nerve::verbs {

struct VerbsDevice {
  ibv_device device{};
  // Provider libraries that a program links (libmlx5) look directly after ibv_device for their own
  // provider data, and must find none.
  std::array<std::byte, 512> no_provider{};
  host::Device info;
  int references{};  // lists and contexts; guarded by the registry's lock
};
static_assert(offsetof(VerbsDevice, no_provider) == 664);

inline VerbsDevice& ours(ibv_device* device) { return *reinterpret_cast<VerbsDevice*>(device); }

void retain(VerbsDevice& device);
void release(VerbsDevice& device);

}  // namespace nerve::verbs
