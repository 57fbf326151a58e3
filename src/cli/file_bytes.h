// Reads a whole file into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nerve::cli {

struct FileBytes {
  std::vector<std::byte> bytes;
  std::string error;  // empty on success
};

// "-" is standard input. Devices are refused, and so are files that this machine has no room for.
[[nodiscard]] FileBytes read_bytes(const std::string& file);
// The same with a limit in bytes.
[[nodiscard]] FileBytes read_bytes(const std::string& file, std::uint64_t limit);

}  // namespace nerve::cli
