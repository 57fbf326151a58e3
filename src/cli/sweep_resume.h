// What --resume of a sweep needs: its folder has a file, runs.txt, with a sum of all that the runs
// depend on. Results in a folder with another sum are of another sweep.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nerve::cli {

// The runs whose results an earlier sweep with this sum has left in the folder.
[[nodiscard]] std::vector<std::size_t> completed_runs(const std::string& folder,
                                                      const std::string& sum, std::size_t runs);
// Writes the file. False, after an error message, if that fails.
[[nodiscard]] bool begin_runs(const std::string& folder, const std::string& sum);

// The file of a run, relative to the folder.
[[nodiscard]] std::string result_of_run(std::size_t number);

}  // namespace nerve::cli
