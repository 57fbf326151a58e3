// Addresses without a GRH, for older InfiniBand programs that know no others (qperf).
//
// RoCE has no LIDs and refuses such addresses. But those programs only query the LID of their own
// port and send it to the peer, which puts it into an address. So a port with an IPv4 address
// reports its last 16 bits as the LID, and a peer's LID stands for the address with those last bits
// in the port's own network.
#pragma once

#include <cstdint>

#include "nic/address.h"
#include "nic/nic.h"

namespace nerve::verbs {

// Zero, an invalid LID, without an IPv4 address.
[[nodiscard]] std::uint16_t lid_of(const nic::Nic& nic);

// Replaces a destination given only by LID with its GID. Other addresses are returned unchanged,
// for the engine to check.
[[nodiscard]] nic::AddressVector with_gid(const nic::Nic& nic, nic::AddressVector address);

}  // namespace nerve::verbs
