#include "cli/file_bytes.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace nerve::cli {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

FileBytes read_all(std::FILE* in) {
  FileBytes result;
  std::array<std::byte, 1U << 16U> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), in)) {
    result.bytes.insert(result.bytes.end(), buffer.begin(),
                        buffer.begin() + static_cast<std::ptrdiff_t>(n));
  }
  if (std::ferror(in) != 0) {
    result.error = std::string{"cannot read it: "} + std::strerror(errno) +
                   "; give the path of a readable file";
  }
  return result;
}

}  // namespace

FileBytes read_bytes(const std::string& file) {
  if (file == "-") return read_all(stdin);
  const std::unique_ptr<std::FILE, Close> in{std::fopen(file.c_str(), "rb")};
  if (in == nullptr) {
    return {.bytes = {},
            .error = std::string{"cannot open it: "} + std::strerror(errno) +
                     "; check the path and its permissions"};
  }
  return read_all(in.get());
}

}  // namespace nerve::cli
