// A configuration file, in TOML: its keys and values as text, each with its place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nerve::host {

struct FileEntry {
  std::string key;
  std::string value;  // as a variable would hold it
  std::uint32_t line{};
};

struct ConfigFile {
  bool found{};
  std::vector<FileEntry> entries;     // in the order of the file
  std::vector<std::string> problems;  // a sentence each
};

[[nodiscard]] ConfigFile read_config_file(const std::string& path);

}  // namespace nerve::host
