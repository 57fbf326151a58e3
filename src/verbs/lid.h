// Addresses without a GRH, for programs of InfiniBand's days that know no others (qperf).
//
// RoCE has no LIDs and refuses such an address. All that those programs do with a LID is to ask
// their own port for it and hand it to the peer, who puts it into an address. So a port with an
// IPv4 address takes its last 16 bits for a LID, and the LID of a peer stands for the address with
// those last bits in the port's own network.
#pragma once

#include <cstdint>

#include "nic/address.h"
#include "nic/nic.h"

namespace nerve::verbs {

// Zero, which is nobody's, without an IPv4 address.
[[nodiscard]] std::uint16_t lid_of(const nic::Nic& nic);

// An address that names its destination by LID alone, with the GID in its place. Others stay as
// they are, for the engine to judge.
[[nodiscard]] nic::AddressVector with_gid(const nic::Nic& nic, nic::AddressVector address);

}  // namespace nerve::verbs
