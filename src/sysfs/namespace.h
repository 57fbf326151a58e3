// Creates the files of a tree (tree.h) in a private mount namespace of this process, which only the
// programs that it starts share. The files are in memory and disappear with the last of them.
//
// Root needs nothing more. Other users also get a user namespace in which only their own user is
// mapped: setuid programs (sudo, the checks of ssh) do not work there, and a process in it cannot
// write to the memory of a process outside of it or in another one.
#pragma once

#include <string>

#include "link/descriptor.h"
#include "sysfs/tree.h"

namespace nerve::sysfs {

// Returns an empty string, or the error; the process must not continue after an error. It must have
// only one thread. `devices` becomes the folder of the devices, for refresh_counters().
[[nodiscard]] std::string enter_namespace(const Tree& tree, link::Descriptor* devices = nullptr);

// Writes the counters of this tree to their files, each with one write.
void refresh_counters(const link::Descriptor& devices, const Tree& tree);

// Tries the same in a child process.
[[nodiscard]] std::string try_namespace(const Tree& tree);

}  // namespace nerve::sysfs
