// The processes of one user that share a host, and this one's slot among them.
//
// A slot is a number that no other live process of the user has; it forms the upper bits of every
// QPN that the process allocates. A process holds a slot by binding a socket to the name
// "nerve/<uid>/<slot>": the kernel makes that exclusive and releases it when the process dies,
// however it dies. In a private folder (private_folder.h) it also holds a lock and a socket of that
// name; if strangers hold all names, those are enough. Other processes connect to the name for
// shared resources (meetings.h) once this process listens; a program that only lists devices never
// does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "host/peers/mapping.h"
#include "nic/config.h"
#include "wire/cm_codes.h"

namespace nerve::host {

// QPNs are slot << kSlotShift | number. Slot 0 is not used, because QPNs 0 and 1 are reserved for
// management.
inline constexpr unsigned kSlotShift = 14;
inline constexpr std::uint32_t kQpnsPerSlot = 1U << kSlotShift;
inline constexpr std::uint32_t kSlots = 1U << (24 - kSlotShift);
// Slots that differ in these low bits use different UDP sockets.
inline constexpr std::uint32_t kSocketGroup = 32;
// Additional shards of a process leave this many sockets to other processes.
inline constexpr std::uint32_t kSocketsForProcesses = 16;

[[nodiscard]] constexpr std::uint32_t slot_of(Qpn qpn) { return qpn.value() >> kSlotShift; }

// Communication ids have the slot in their upper bits as well.
static_assert(kSlots == std::uint64_t{1} << (32 - nic::kCommIdBits));
[[nodiscard]] constexpr std::uint32_t slot_of(wire::CommId id) {
  return id.value() >> nic::kCommIdBits;
}

struct Membership {
  std::uint32_t slot{};
  Descriptor listener;          // at the abstract name; none if a stranger has that
  Descriptor private_listener;  // none without a private folder
  Descriptor lock;              // there
};

[[nodiscard]] std::string name_of_slot(std::uint32_t slot);
// A name of this user that is not a slot's.
[[nodiscard]] std::string name_of(std::string_view what);
[[nodiscard]] std::vector<std::uint32_t> live_slots();
// False without /proc: then live_slots() has only those whose process answers calls.
[[nodiscard]] bool all_slots_are_visible();
// True if this process of our user holds the slot and answers calls. Does not wait for it.
[[nodiscard]] bool holds_slot(pid_t pid, std::uint32_t slot);
// Nothing, with errno, if all slots are taken or no socket can be created. `first` is the slot of
// the process's first shard, if it joins for another shard: when few UDP sockets are unused, the
// new shard shares the first one's socket, so that processes need not read each other's packets.
[[nodiscard]] std::optional<Membership> join_host(std::optional<std::uint32_t> first = {});
// The process ends: removes its socket from the private folder. The slot stays its own.
void leave_host(std::uint32_t slot);

}  // namespace nerve::host
