// The file of the running program: what it needs lies beside it.
#pragma once

#include <filesystem>
#include <system_error>

namespace nerve::cli {

// Empty where /proc is not to be had.
inline std::filesystem::path this_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

}  // namespace nerve::cli
