// Handles of the engine's objects. A stale handle finds nothing.
#pragma once

#include "base/slot_table.h"

namespace nerve::nic {

using PdHandle = Handle<struct Pd>;
using MrHandle = Handle<struct MemoryRegion>;
using MwHandle = Handle<struct MemoryWindow>;
using CqHandle = Handle<struct Cq>;
using SrqHandle = Handle<struct Srq>;
using QpHandle = Handle<struct Qp>;
using AhHandle = Handle<struct AddressHandle>;
using XrcdHandle = Handle<struct XrcDomain>;

}  // namespace nerve::nic
