// What `nerve --version` prints: which Nerve this is, and how it was built.
#pragma once

#include <string>

namespace nerve::cli {

// The commit of the source tree, with `-dirty` where a package was made from changed files;
// `unknown` where git did not know. Defined in a file that the build makes:
// cmake/make_commit.cmake.
[[nodiscard]] const char* commit();

// Version, commit, compiler and features, a line each; `library` is the folder of libibverbs.so.1,
// empty when it was not found.
[[nodiscard]] std::string version_text(const std::string& library);

// Prints version_text() and then, by nerve-sim, what report pages look like. Returns an exit code.
[[nodiscard]] int print_version();

}  // namespace nerve::cli
