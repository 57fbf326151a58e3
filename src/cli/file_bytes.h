// A whole file in memory, or the reason why not.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nerve::cli {

struct FileBytes {
  std::vector<std::byte> bytes;
  std::string error;  // empty: all is well
};

// "-" is standard input.
[[nodiscard]] FileBytes read_bytes(const std::string& file);

}  // namespace nerve::cli
