#include "host/seal/key_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "host/diagnostics/log.h"
#include "link/system_calls.h"

namespace nerve::host {
namespace {

// Why keys must not be written to this file; empty if they may.
std::string unfit(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return path + ": " + std::strerror(errno);
  if (!S_ISREG(status.st_mode)) return path + ": not a regular file; name another one";
  if (status.st_uid != ::geteuid()) {
    return path + ": belongs to user " + std::to_string(status.st_uid) +
           "; remove it or name another file";
  }
  if ((status.st_mode & 077U) != 0) {
    return path + ": other users may read or change it; run: chmod 600 " + path;
  }
  if (status.st_size == 0) return {};
  std::array<char, kKeyLineStart.size()> start{};
  const bool whole = ::pread(fd, start.data(), start.size(), 0) == ssize_t{start.size()};
  if (whole && std::string_view{start.data(), start.size()} == kKeyLineStart) return {};
  return path + ": exists and is not a log of keys; remove it or name another file";
}

std::string open_refusal(const std::string& path) {
  if (errno == ELOOP) return path + ": a symbolic link; remove it or name another file";
  return path + ": cannot be opened: " + std::strerror(errno) +
         "; check that its folder exists and is writable";
}

}  // namespace

Result<std::shared_ptr<KeyLog>, std::string> KeyLog::open(const std::string& path) {
  // O_NONBLOCK: a FIFO must not stop the program before it is refused.
  link::Descriptor file{::open(
      path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0600)};
  if (!file) return Unexpected{open_refusal(path)};
  if (std::string why = unfit(file.get(), path); !why.empty()) return Unexpected{std::move(why)};
  return std::shared_ptr<KeyLog>{new KeyLog{path, std::move(file)}};
}

void KeyLog::write(const KeyLine& line) {
  std::string text = line.text();
  const ssize_t written = link::system::write(file_.get(), text.data(), text.size());
  const int error = written < 0 ? errno : ENOSPC;
  if (written != static_cast<ssize_t>(text.size()) && !complained_.exchange(true)) {
    log(LogLevel::kWarn, "%s: keys cannot be written: %s", path_.c_str(), std::strerror(error));
  }
  ::explicit_bzero(text.data(), text.size());
}

}  // namespace nerve::host
