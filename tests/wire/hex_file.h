// Bytes stored as text below tests/wire/data/, so that changes to them can be reviewed.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace nerve::test {

// Two hex digits per byte, separated by blanks; '#' starts a comment. Empty when there is no such
// file.
inline std::vector<std::byte> read_hex(const std::string& name) {
  std::ifstream file{std::string{NERVE_SOURCE_DIR "/tests/wire/data/"} + name};
  std::vector<std::byte> bytes;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line.substr(0, line.find('#'))};
    for (std::string word; words >> word;) {
      bytes.push_back(static_cast<std::byte>(std::strtoul(word.c_str(), nullptr, 16)));
    }
  }
  return bytes;
}

}  // namespace nerve::test
