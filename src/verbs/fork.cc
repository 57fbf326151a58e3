// fork(): no preparation is needed. A hardware NIC writes to physical pages, which a fork may
// replace by copies; ours writes through the process's own mapping.
#include "verbs/api.h"

extern "C" {

int ibv_fork_init(void) VERBS_NOEXCEPT { return 0; }
ibv_fork_status ibv_is_fork_initialized(void) VERBS_NOEXCEPT { return IBV_FORK_UNNEEDED; }
int ibv_dontfork_range(void* /*base*/, size_t /*size*/) VERBS_NOEXCEPT { return 0; }
int ibv_dofork_range(void* /*base*/, size_t /*size*/) VERBS_NOEXCEPT { return 0; }

}  // extern "C"
