#include "cli/run_plan.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/nearest.h"
#include "cli/packages.h"
#include "cli/this_program.h"
#include "host/config/settings.h"

namespace nerve::cli {
namespace {

// True if this option takes the next word as its value.
bool takes_next(std::string_view word) {
  constexpr std::string_view kOfTrace[] = {"--out", "--json", "--chrome", "--messages", "--folder"};
  if (std::ranges::find(kOfTrace, word) != std::end(kOfTrace)) return true;
  const auto all = host::settings();
  const auto found = std::ranges::find(all, word, &host::Setting::flag);
  return found != all.end() && !found->value.empty();
}

// True if the kernel starts it without a dynamic loader, so that LD_PRELOAD has no effect.
bool is_static_program(const std::string& file) {
  std::ifstream in{file, std::ios::binary};
  Elf64_Ehdr header{};
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return false;
  }
  in.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!in.read(reinterpret_cast<char*>(&segment), sizeof segment)) return false;
    if (segment.p_type == PT_INTERP) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> mark_command(std::vector<std::string> arguments) {
  if (arguments.empty() || (arguments[0] != "run" && arguments[0] != "trace")) return arguments;
  std::size_t at = 1;
  while (at < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "--") {
    at += takes_next(arguments[at]) ? 2 : 1;
  }
  if (at < arguments.size() && arguments[at] != "--") {
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(at), "--");
  }
  return arguments;
}

std::optional<std::string> find_library_folder(const std::string& program) {
  const char* relative = in_build_tree(program) ? "../../lib" : "../lib/nerve";
  const std::filesystem::path place =
      (std::filesystem::path{program}.parent_path() / relative).lexically_normal();
  std::error_code ignored;
  if (!std::filesystem::exists(place / "libibverbs.so.1", ignored)) return std::nullopt;
  return place.string();
}

std::string find_command(const std::string& word, const std::string& path) {
  if (word.find('/') != std::string::npos) return word;
  std::istringstream folders{path};
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + word;
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
        ::access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return {};
}

std::string nearest_command(const std::string& word, const std::string& path) {
  std::vector<std::string> names;
  std::istringstream folders{path};
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator{folder, failure}) {
      std::string name = entry.path().filename();
      // rping is not a misspelt ping, but a program of a package that is not installed.
      if (package_of(name) == package_of(word)) names.push_back(std::move(name));
    }
  }
  constexpr std::size_t kLettersPerEdit = 4;
  const std::string nearest{nearest_name(word, names)};
  return edits_between(word, nearest) <= word.size() / kLettersPerEdit ? nearest : "";
}

host::Offer choose_offer(host::Offer wanted, const std::string& file) {
  if (wanted != host::Offer::kAuto) return wanted;
  return is_static_program(file) ? host::Offer::kNamespace : host::Offer::kPreload;
}

host::Environment run_environment(const std::map<std::string, std::string>& settings,
                                  const std::string& library_folder, host::Offer offer,
                                  const host::Environment& now) {
  host::Environment changes{settings.begin(), settings.end()};
  const auto before = now.find("LD_LIBRARY_PATH");
  const bool any = before != now.end() && !before->second.empty();
  changes["LD_LIBRARY_PATH"] = library_folder + (any ? ":" + before->second : "");
  if (const auto direct = settings.find("NERVE_GPU_DIRECT");
      direct != settings.end() && direct->second == "on") {
    // At any distance between NIC and GPU; and no module is loaded while a kernel waits for data.
    for (const auto& [name, value] : {std::pair{"NCCL_NET_GDR_LEVEL", "SYS"},
                                      {"NCCL_NET_GDR_READ", "1"},
                                      {"CUDA_MODULE_LOADING", "EAGER"}}) {
      if (!now.contains(name)) changes[name] = value;
    }
  }
  if (offer == host::Offer::kOff) return changes;
  // In a namespace the preload library leaves these paths to the kernel.
  changes["NERVE_OFFER"] = offer == host::Offer::kNamespace ? "namespace" : "preload";
  const std::string ours = library_folder + "/libnerve-preload.so";
  const auto others = now.find("LD_PRELOAD");
  if (others == now.end() || others->second.empty()) {
    changes["LD_PRELOAD"] = ours;
  } else if (others->second.find(ours) == std::string::npos) {
    changes["LD_PRELOAD"] = others->second + ":" + ours;
  }
  return changes;
}

std::optional<std::string> ignores_library_path(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != ::geteuid()) return "it is setuid";
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != ::getegid()) return "it is setgid";
  if (::geteuid() != 0 && ::getxattr(file.c_str(), "security.capability", nullptr, 0) > 0) {
    return "it has file capabilities";
  }
  return std::nullopt;
}

}  // namespace nerve::cli
