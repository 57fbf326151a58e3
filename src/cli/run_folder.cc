#include "cli/run_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace nerve::cli {
namespace {

// Tries to write: access() always succeeds for root, even in a read-only folder.
bool can_write_to(const std::string& folder) {
  const std::string trial = partial_of(folder + "/trial");
  std::FILE* file = std::fopen(trial.c_str(), "wb");
  if (file == nullptr) return false;
  (void)std::fclose(file);
  (void)std::remove(trial.c_str());
  return true;
}

}  // namespace

std::string folder_for(std::string_view scenario_name) {
  std::string name;
  for (const char c : scenario_name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (plain && !(name.empty() && c == '.')) name += c;
    if (!plain && !name.empty() && name.back() != '-') name += '-';
  }
  return "results/" + (name.empty() ? std::string{"scenario"} : name);
}

bool make_folder(const std::string& command, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const bool made = !error;
  if (made && can_write_to(folder)) return true;
  fmt::print(stderr, "nerve {}: {}: cannot {} this folder: {}; choose another with --out\n",
             command, folder, made ? "write to" : "create",
             made ? std::strerror(errno) : error.message());
  return false;
}

bool write_file(const std::string& command, const std::string& path, std::string_view text) {
  const std::string partial = partial_of(path);
  std::FILE* file = std::fopen(partial.c_str(), "wb");
  bool good = file != nullptr;
  good = good && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) good = std::fclose(file) == 0 && good;
  good = good && std::rename(partial.c_str(), path.c_str()) == 0;
  if (good) return true;
  fmt::print(stderr, "nerve {}: {}: cannot write it: {}\n", command, path, std::strerror(errno));
  (void)std::remove(partial.c_str());
  return false;
}

}  // namespace nerve::cli
