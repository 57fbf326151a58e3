// Where datagrams go: an address vector, checked and resolved once.
#pragma once

#include "nic/handles.h"
#include "wire/frame.h"

namespace nerve::nic {

struct AddressHandle {
  PdHandle pd{};
  wire::Flow flow{};
};

}  // namespace nerve::nic
