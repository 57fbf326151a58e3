#include "host/config/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/toml.h"

namespace nerve::host {
namespace {

constexpr std::size_t kLongest = std::size_t{64} << 10;
// Each dot of a dotted key nests one table in another, and they are destroyed recursively. The
// limit, far above real use, keeps the stack from overflowing.
constexpr std::ptrdiff_t kMostDots = 1024;

struct Text {
  std::string bytes;
  int error{};          // an errno
  std::string problem;  // why the file is not used; empty if it is
};

// The file decides which files a program writes, so only its user and root may have written it.
std::string distrust(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return {};
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return "belongs to uid " + std::to_string(status.st_uid) + ", not to uid " +
           std::to_string(::geteuid()) + " or root; copy it, none of it is used";
  }
  if (S_ISREG(status.st_mode) && (status.st_mode & S_IWOTH) != 0) {
    return "can be written by every user; chmod o-w it, none of it is used";
  }
  return {};
}

void read_all(int fd, Text& text) {
  std::array<char, 4096> buffer;
  while (text.bytes.size() <= kLongest) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) text.error = errno;
    if (n <= 0) break;
    text.bytes.append(buffer.data(), static_cast<std::size_t>(n));
  }
  if (text.bytes.size() > kLongest) {
    text.problem = "is longer than " + std::to_string(kLongest) + " bytes; none of it is used";
  } else if (std::ranges::count(text.bytes, '.') > kMostDots) {
    text.problem = "has more than " + std::to_string(kMostDots) + " dots; none of it is used";
  }
}

Text read_text(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return {.bytes = {}, .error = errno, .problem = {}};
  Text text;
  text.problem = distrust(fd);
  if (text.problem.empty()) read_all(fd, text);
  ::close(fd);
  return text;
}

std::optional<std::string> text_of(const toml::node& node);

// Lists and tables are used for devices: ["nerve0=eth0"], or nerve0 = "eth0" below [devices].
std::optional<std::string> joined(const toml::array& array) {
  std::string all;
  for (const toml::node& element : array) {
    const auto text = element.is_array() || element.is_table() ? std::nullopt : text_of(element);
    if (!text) return std::nullopt;
    all += (all.empty() ? "" : ",") + *text;
  }
  return all;
}

std::optional<std::string> joined(const toml::table& table) {
  std::string all;
  for (const auto& [key, element] : table) {
    const auto text = element.is_array() || element.is_table() ? std::nullopt : text_of(element);
    if (!text) return std::nullopt;
    all += (all.empty() ? "" : ",") + std::string{key.str()} + "=" + *text;
  }
  return all;
}

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "on" : "off";
  if (const auto* array = node.as_array()) return joined(*array);
  if (const auto* table = node.as_table()) return joined(*table);
  return std::nullopt;
}

}  // namespace

ConfigFile read_config_file(const std::string& path) {
  ConfigFile file;
  const Text text = read_text(path);
  file.found = text.error != ENOENT && text.error != ENOTDIR;
  if (text.error != 0) {
    file.problems.push_back(path + ": cannot be read: " + std::strerror(text.error) +
                            "; check the path and its permissions");
    return file;
  }
  if (!text.problem.empty()) {
    file.problems.push_back(path + ": " + text.problem);
    return file;
  }
  const toml::parse_result parsed = toml::parse(text.bytes, path);
  const auto place = [&path](const toml::source_region& where) {
    return path + ":" + std::to_string(where.begin.line);
  };
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    file.problems.push_back(place(error.source()) +
                            ": not TOML: " + std::string{error.description()} +
                            "; fix the file, none of it is used");
    return file;
  }
  for (const auto& [key, node] : parsed.table()) {
    if (const auto value = text_of(node)) {
      file.entries.push_back({std::string{key.str()}, *value, node.source().begin.line});
    } else {
      file.problems.push_back(place(node.source()) + ": " + std::string{key.str()} +
                              ": unsupported type of value; use a string, a number, true or false");
    }
  }
  std::ranges::stable_sort(file.entries, {}, &FileEntry::line);
  return file;
}

}  // namespace nerve::host
