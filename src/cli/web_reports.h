// The finished reports below a folder: pages that `nerve sim`, `nerve sweep` and `nerve trace`
// wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nerve::cli {

struct WebReport {
  std::string name;  // the path below the folder, for example "first/report.html"
  std::uint64_t bytes{};
  std::int64_t modified{};  // seconds since 1970
};

// The HTML files below the folder, newest first: at most 500, and no deeper than four folders.
// Symbolic links are not followed. An absent folder has none.
[[nodiscard]] std::vector<WebReport> find_reports(const std::filesystem::path& folder);

[[nodiscard]] std::string reports_json(const std::vector<WebReport>& reports);

// The page of that name. The error is a sentence: no such report, or it cannot be read.
[[nodiscard]] Result<std::string, std::string> read_report_page(const std::filesystem::path& folder,
                                                                std::string_view name);

}  // namespace nerve::cli
