// Reads a configuration file in TOML: its keys and values as text, each with its line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nerve::host {

struct FileEntry {
  std::string key;
  std::string value;  // in the syntax of the environment variable
  std::uint32_t line{};
};

struct ConfigFile {
  bool found{};
  std::vector<FileEntry> entries;     // in the order of the file
  std::vector<std::string> problems;  // one sentence each
};

[[nodiscard]] ConfigFile read_config_file(const std::string& path);

}  // namespace nerve::host
