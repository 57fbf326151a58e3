// The folder for the results of a run.
#pragma once

#include <string>
#include <string_view>

namespace nerve::cli {

// results/<name>, without characters that are awkward in a path.
[[nodiscard]] std::string folder_for(std::string_view scenario_name);

// Creates the folder and its parents. False, after an error message, if that fails or the folder is
// not writable.
[[nodiscard]] bool make_folder(const std::string& command, const std::string& folder);

// The name of a file until it is complete.
[[nodiscard]] inline std::string partial_of(const std::string& path) { return path + ".partial"; }

// Writes atomically: an existing file is replaced only when the new one is complete. False, after
// an error message, on failure.
[[nodiscard]] bool write_file(const std::string& command, const std::string& path,
                              std::string_view text);

}  // namespace nerve::cli
