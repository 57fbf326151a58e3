// `nerve doctor`: checks our libibverbs, and which one programs load.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <filesystem>
#include <memory>

#include "cli/finding.h"
#include "cli/run_plan.h"
#include "cli/this_program.h"

namespace nerve::cli {
namespace {

using Library = std::unique_ptr<void, int (*)(void*)>;

Library load(const std::string& file) {
  return {::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL), ::dlclose};
}

std::string path_of(const Library& library) {
  link_map* map = nullptr;
  if (::dlinfo(library.get(), RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "?";
  std::error_code ignored;
  return std::filesystem::canonical(map->l_name, ignored).string();
}

// One function of each symbol version that programs may be linked with.
struct Promise {
  const char* name;
  const char* version;
};
constexpr std::array kPromises = {Promise{"ibv_get_device_list", "IBVERBS_1.1"},
                                  Promise{"ibv_open_device", "IBVERBS_1.1"},
                                  Promise{"ibv_create_qp", "IBVERBS_1.1"},
                                  Promise{"ibv_wc_status_str", "IBVERBS_1.1"},
                                  Promise{"ibv_qp_to_qp_ex", "IBVERBS_1.6"},
                                  Promise{"ibv_reg_mr_iova2", "IBVERBS_1.8"},
                                  Promise{"ibv_import_device", "IBVERBS_1.10"},
                                  Promise{"ibv_query_qp_data_in_order", "IBVERBS_1.14"}};

Finding ours(const std::string& folder) {
  const std::string name = "library";
  const Library library = load(folder + "/libibverbs.so.1");
  if (!library) {
    return {Verdict::kMissing, name, ::dlerror(), how_to_restore()};
  }
  std::string absent;
  for (const Promise& promise : kPromises) {
    if (::dlvsym(library.get(), promise.name, promise.version) != nullptr) continue;
    absent += fmt::format(" {}@{}", promise.name, promise.version);
  }
  if (!absent.empty()) {
    return {Verdict::kMissing, name, "lacks" + absent, how_to_restore()};
  }
  return {Verdict::kOk, name, path_of(library) + " loads, with its symbol versions", ""};
}

// The library that a program gets without `nerve run`.
Finding found_by_programs(const std::string& our_folder) {
  const std::string name = "programs load";
  const Library library = load("libibverbs.so.1");
  if (!library) {
    return {Verdict::kOk, name, "ours with `nerve run`; without it there is no libibverbs.so.1",
            ""};
  }
  const std::string path = path_of(library);
  std::error_code ignored;
  if (std::filesystem::equivalent(path, our_folder + "/libibverbs.so.1", ignored)) {
    return {Verdict::kOk, name, "ours, also without `nerve run`", ""};
  }
  return {Verdict::kOk, name, fmt::format("ours with `nerve run`, {} without", path), ""};
}

}  // namespace

void examine_library(Findings& findings) {
  const std::string program = this_program().string();
  const auto folder = find_library_folder(program);
  if (!folder) {
    findings.push_back({Verdict::kMissing, "library",
                        fmt::format("no libibverbs.so.1 for {}", program), how_to_restore()});
    return;
  }
  // In this order: once ours is loaded, dlopen returns it for every request by name.
  Finding by_programs = found_by_programs(*folder);
  findings.push_back(ours(*folder));
  findings.push_back(std::move(by_programs));
}

}  // namespace nerve::cli
