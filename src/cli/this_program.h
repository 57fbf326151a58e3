// The path of the running program, and what surrounds it: a build tree, or the folders of an
// installation (bin/, lib/nerve/, share/doc/nerve/) under any prefix.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace nerve::cli {

// Empty if /proc is not mounted.
[[nodiscard]] std::filesystem::path this_program();

// True if a program at this path is in the tree that it was built in.
[[nodiscard]] bool in_build_tree(const std::filesystem::path& program);

// The nerve-sim that belongs to the `nerve` at this path.
[[nodiscard]] std::filesystem::path simulator_of(const std::filesystem::path& program);

// A page that belongs to the program at this path, for example "live.html"; made from web/.
[[nodiscard]] std::filesystem::path page_of(const std::filesystem::path& program,
                                            std::string_view name);

// How the user calls this program, for messages: `./nerve` in a source tree, else `nerve`.
[[nodiscard]] std::string command_name();

// What to do when a file that belongs to this program is missing or broken.
[[nodiscard]] std::string how_to_restore();

// The README that belongs to this program.
[[nodiscard]] std::string readme();

}  // namespace nerve::cli
