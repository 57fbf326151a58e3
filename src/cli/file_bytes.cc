#include "cli/file_bytes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
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

// A vector that grows copies itself, so a file may need three times its size for a moment.
std::uint64_t largest_file() {
  constexpr std::uint64_t kLargest = std::uint64_t{4} << 30;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return kLargest;
  return std::min(kLargest,
                  static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) / 8);
}

// A device may have no end.
bool is_device(std::FILE* in) {
  struct stat status {};
  return ::fstat(::fileno(in), &status) == 0 &&
         (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode));
}

FileBytes read_all(std::FILE* in, std::uint64_t limit) {
  FileBytes result;
  if (is_device(in)) {
    result.error = "it is a device; give the path of a file, or a pipe";
    return result;
  }
  std::array<std::byte, 1U << 16U> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), in)) {
    if (result.bytes.size() + n > limit) {
      return {.bytes = {},
              .error = "it is longer than " + std::to_string(limit) +
                       " bytes, an eighth of this machine's memory or 4 GB; give a part of it"};
    }
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

FileBytes read_bytes(const std::string& file) { return read_bytes(file, largest_file()); }

FileBytes read_bytes(const std::string& file, std::uint64_t limit) {
  if (file == "-") return read_all(stdin, limit);
  const std::unique_ptr<std::FILE, Close> in{std::fopen(file.c_str(), "rb")};
  if (in == nullptr) {
    return {.bytes = {},
            .error = std::string{"cannot open it: "} + std::strerror(errno) +
                     "; check the path and its permissions"};
  }
  return read_all(in.get(), limit);
}

}  // namespace nerve::cli
