// Whether a user id that the kernel reports identifies this process's user.
//
// In a user namespace the kernel reports every user that is not mapped there as the overflow uid,
// usually 65534. A process whose own user is not mapped has that uid too, and cannot tell itself
// from any other user of the machine.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace nerve::host {

// True if a process with this uid is a process of our user.
[[nodiscard]] bool is_own_user(uid_t uid);

// The contents of /proc/self/uid_map: true if every uid is mapped to itself.
[[nodiscard]] bool maps_every_user(std::string_view uid_map);

}  // namespace nerve::host
