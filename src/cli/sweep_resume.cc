#include "cli/sweep_resume.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/file_bytes.h"
#include "cli/run_folder.h"
#include "sim/results/result_json.h"

namespace nerve::cli {
namespace {

std::string text_in(const std::string& path) {
  if (!std::filesystem::exists(path)) return {};
  const FileBytes file = read_bytes(path);
  return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

std::string line_of(const std::string& sum) { return "sweep " + sum + "\n"; }

}  // namespace

std::string result_of_run(std::size_t number) { return fmt::format("{:03}/result.json", number); }

std::vector<std::size_t> completed_runs(const std::string& folder, const std::string& sum,
                                        std::size_t runs) {
  std::vector<std::size_t> completed;
  if (text_in(folder + "/runs.txt") != line_of(sum)) return completed;
  for (std::size_t i = 0; i < runs; ++i) {
    const std::string text = text_in(folder + "/" + result_of_run(i));
    if (!text.empty() && sim::from_json(text)) completed.push_back(i);
  }
  return completed;
}

bool begin_runs(const std::string& folder, const std::string& sum) {
  return write_file("sweep", folder + "/runs.txt", line_of(sum));
}

}  // namespace nerve::cli
