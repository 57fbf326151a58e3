// The destination of datagrams: an address vector that was checked and resolved once.
#pragma once

#include "nic/handles.h"
#include "wire/frame.h"

namespace nerve::nic {

struct AddressHandle {
  PdHandle pd{};
  wire::Flow flow{};
};

}  // namespace nerve::nic
