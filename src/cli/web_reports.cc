#include "cli/web_reports.h"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/file_bytes.h"

namespace nerve::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostReports = 500;
constexpr std::size_t kMostFiles = 20'000;  // looked at
constexpr int kDeepest = 4;

}  // namespace

std::vector<WebReport> find_reports(const fs::path& folder) {
  std::vector<WebReport> found;
  std::error_code failed;
  std::size_t files = 0;
  fs::recursive_directory_iterator at{folder, fs::directory_options::skip_permission_denied,
                                      failed};
  for (; !failed && at != fs::recursive_directory_iterator{} && files < kMostFiles;
       at.increment(failed), ++files) {
    if (at.depth() >= kDeepest) at.disable_recursion_pending();
    if (at->path().extension() != ".html") continue;
    struct stat about {};
    if (::lstat(at->path().c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    found.push_back({.name = at->path().lexically_relative(folder).string(),
                     .bytes = static_cast<std::uint64_t>(about.st_size),
                     .modified = about.st_mtim.tv_sec});
  }
  std::ranges::sort(found, [](const WebReport& a, const WebReport& b) {
    return a.modified != b.modified ? a.modified > b.modified : a.name < b.name;
  });
  if (found.size() > kMostReports) found.resize(kMostReports);
  return found;
}

std::string reports_json(const std::vector<WebReport>& reports) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const WebReport& report : reports) {
    list.push_back({{"name", report.name}, {"bytes", report.bytes}, {"modified", report.modified}});
  }
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string, std::string> read_report_page(const fs::path& folder, std::string_view name) {
  // Only what the list has can be read, so a name cannot lead out of the folder.
  const std::vector<WebReport> reports = find_reports(folder);
  if (std::ranges::find(reports, name, &WebReport::name) == reports.end()) {
    return Unexpected{std::string{"there is no such report\n"}};
  }
  const FileBytes file = read_bytes((folder / name).string());
  if (!file.error.empty()) return Unexpected{file.error + "\n"};
  return std::string{reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

}  // namespace nerve::cli
