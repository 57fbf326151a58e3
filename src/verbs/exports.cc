#include "verbs/exports.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace nerve::verbs {
namespace {

// All open ones, to find them by the identity of their file.
struct Registry {
  std::mutex lock;
  std::vector<std::weak_ptr<Exports>> all;
};

Registry& registry() {
  static Registry* const only = new Registry;
  return *only;
}

bool same_file(int a, int b) {
  struct stat first {};
  struct stat second {};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

Exports::Exports(int fd, std::string device_name) : fd_{fd}, device_name_{std::move(device_name)} {}

Exports::~Exports() { ::close(fd_); }

std::shared_ptr<Exports> Exports::create(const std::string& device_name) {
  const int fd = ::memfd_create("nerve-device", MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  std::shared_ptr<Exports> fresh{new Exports{fd, device_name}};
  const std::scoped_lock guard{registry().lock};
  std::erase_if(registry().all, [](const auto& known) { return known.expired(); });
  registry().all.push_back(fresh);
  return fresh;
}

std::shared_ptr<Exports> Exports::find(int fd) {
  const std::scoped_lock guard{registry().lock};
  for (const auto& known : registry().all) {
    if (auto exports = known.lock(); exports && same_file(exports->fd(), fd)) return exports;
  }
  return nullptr;
}

}  // namespace nerve::verbs
