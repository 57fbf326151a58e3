// The processes of one user that share a host, and this one's place among them.
//
// Each holds a slot: a number that no other live process of the user has, and that names the upper
// bits of every QPN it gives out. A slot is held by having a socket with the name
// "nerve/<uid>/<slot>": the kernel makes that exclusive and lets go of it when the process dies,
// however it dies. At that name other processes ask for what hosts share (meetings.h), once there
// is somebody to answer: a program that only looks which devices there are shares nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "host/peers/mapping.h"
#include "nic/config.h"
#include "wire/cm_codes.h"

namespace nerve::host {

// QPNs are slot << kSlotShift | number. Slot 0 is nobody's: QPNs 0 and 1 are management's.
inline constexpr unsigned kSlotShift = 14;
inline constexpr std::uint32_t kQpnsPerSlot = 1U << kSlotShift;
inline constexpr std::uint32_t kSlots = 1U << (24 - kSlotShift);
// Processes whose slots differ in these low bits each get a UDP socket of their own.
inline constexpr std::uint32_t kSocketGroup = 32;
// So many of these are left to other processes by the further shards of one.
inline constexpr std::uint32_t kSocketsForProcesses = 16;

[[nodiscard]] constexpr std::uint32_t slot_of(Qpn qpn) { return qpn.value() >> kSlotShift; }

// Communication ids have the slot in their upper bits as well.
static_assert(kSlots == std::uint64_t{1} << (32 - nic::kCommIdBits));
[[nodiscard]] constexpr std::uint32_t slot_of(wire::CommId id) {
  return id.value() >> nic::kCommIdBits;
}

struct Membership {
  std::uint32_t slot{};
  Descriptor listener;
};

[[nodiscard]] std::string name_of_slot(std::uint32_t slot);
// Held by whoever is making the table of ports (port_space.h).
[[nodiscard]] std::string name_of_ports();
[[nodiscard]] std::vector<std::uint32_t> live_slots();
// Nothing when all slots are taken or no socket can be made (errno says which). `first` is the slot
// that the process has already, when it joins for another shard: where few UDP sockets are unused,
// that shares the first one's, so that processes need not read each other's packets.
[[nodiscard]] std::optional<Membership> join_host(std::optional<std::uint32_t> first = {});

}  // namespace nerve::host
