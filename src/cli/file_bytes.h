// Reads a whole file into memory.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nerve::cli {

struct FileBytes {
  std::vector<std::byte> bytes;
  std::string error;  // empty on success
};

// "-" is standard input.
[[nodiscard]] FileBytes read_bytes(const std::string& file);

}  // namespace nerve::cli
