// A whole file in memory, or the reason why not.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace nerve::cli {

struct FileOctets {
  std::vector<std::byte> octets;
  std::string error;  // empty: all is well
};

// "-" is standard input.
[[nodiscard]] FileOctets read_octets(const std::string& file);

}  // namespace nerve::cli
