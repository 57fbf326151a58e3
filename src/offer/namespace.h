// A tree of tree.h as files: in a mount namespace of this process, which the programs that it
// starts share and nobody else sees. The files are in memory and go with the last of them.
//
// Root needs nothing more. Anybody else gets a user namespace as well, in which he is himself and
// all others are nobody: setuid programs (sudo, ssh's own checks) do not work there, and a process
// in it cannot write into the memory of one that is outside or in another.
#pragma once

#include <string>

#include "offer/tree.h"

namespace nerve::offer {

// Empty, or what stood in the way; then this process is in no state to go on. It must have one
// thread.
[[nodiscard]] std::string enter_namespace(const Tree& tree);

// The same in a process that ends at once, to find out.
[[nodiscard]] std::string try_namespace(const Tree& tree);

}  // namespace nerve::offer
