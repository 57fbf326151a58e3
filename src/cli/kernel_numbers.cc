#include "cli/kernel_numbers.h"

#include <fstream>

namespace nerve::cli {

std::optional<std::int64_t> kernel_number(const char* file) {
  std::ifstream in{file};
  std::int64_t number = 0;
  if (!(in >> number)) return std::nullopt;
  return number;
}

}  // namespace nerve::cli
