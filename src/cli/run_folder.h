// Where the results of a run go.
#pragma once

#include <string>
#include <string_view>

namespace nerve::cli {

// results/<name>, without what is awkward in a path.
[[nodiscard]] std::string folder_for(std::string_view scenario_name);

// Makes the folder and those above it. False, and told, when that cannot be, or when nothing can be
// written there.
[[nodiscard]] bool make_folder(const std::string& command, const std::string& folder);

// What a file is called until it is complete.
[[nodiscard]] inline std::string partial_of(const std::string& path) { return path + ".partial"; }

// Whole or not at all: a file of that name is replaced when the new one is complete. False, and
// told, when it cannot be written.
[[nodiscard]] bool write_file(const std::string& command, const std::string& path,
                              std::string_view text);

}  // namespace nerve::cli
