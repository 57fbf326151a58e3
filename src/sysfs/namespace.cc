#include "sysfs/namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "link/descriptor.h"
#include "sysfs/cover.h"

namespace nerve::sysfs {
namespace {

std::string because(const std::string& what) { return what + ": " + std::strerror(errno); }

bool write_file(const char* path, const std::string& text, int flags = 0) {
  const link::Descriptor file{::open(path, O_WRONLY | O_CLOEXEC | flags, 0444)};
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Users and groups keep their numbers in the new user namespace.
std::string unshare_as_user() {
  const std::string user = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return because("cannot create a user namespace");
  // A process that may only map its own group must first deny setgroups.
  if (!write_file("/proc/self/setgroups", "deny") ||
      !write_file("/proc/self/gid_map", group + " " + group + " 1") ||
      !write_file("/proc/self/uid_map", user + " " + user + " 1")) {
    return because("cannot map the user in the user namespace");
  }
  return {};
}

std::string make_node(const Node& node) {
  const char* const path = node.path.c_str();
  bool made = false;
  switch (node.kind) {
    case NodeKind::kFolder:
      made = ::mkdir(path, 0755) == 0 || errno == EEXIST;
      break;
    case NodeKind::kFile:
      made = write_file(path, node.text, O_CREAT | O_EXCL);
      break;
    case NodeKind::kLink:
      made = ::symlink(node.text.c_str(), path) == 0;
      break;
    case NodeKind::kCharDevice:
      made = write_file(path, "", O_CREAT | O_EXCL) &&
             ::mount("/dev/null", path, nullptr, MS_BIND, nullptr) == 0;
      break;
  }
  return made ? "" : because(node.path);
}

}  // namespace

std::string enter_namespace(const Tree& tree, link::Descriptor* devices) {
  const bool as_root = ::unshare(CLONE_NEWNS) == 0;
  if (!as_root) {
    if (std::string why = unshare_as_user(); !why.empty()) return why;
  }
  // Mounts made from now on are private; mounts of other processes still propagate to us.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return because("cannot make mounts private");
  }
  std::vector<Cover> covers{{"/sys/class", {"infiniband", "infiniband_verbs"}},
                            {"/dev", {"infiniband"}}};
  for (Cover& cover : covers) {
    if (std::string why = make_room(cover); !why.empty()) return why;
  }
  for (const Node& node : tree) {
    if (std::string why = make_node(node); !why.empty()) return why;
  }
  if (devices != nullptr) {
    // A mount of its own: it can be written to when the one that programs see cannot.
    constexpr unsigned kAlone = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
    *devices = link::Descriptor{::open_tree(AT_FDCWD, std::string{kDevices}.c_str(), kAlone)};
  }
  if (as_root) return {};
  // The covers belong to the user although the originals did not, so protect them from changes.
  for (const Cover& cover : covers) {
    if (std::string why = protect(cover); !why.empty()) return why;
  }
  return {};
}

void refresh_counters(const link::Descriptor& devices, const Tree& tree) {
  constexpr const char* kNew = ".new";
  for (const Node& node : tree) {
    if (node.kind != NodeKind::kFile || !is_counter(node.path)) continue;
    const std::string path = node.path.substr(kDevices.size() + 1);
    {
      const link::Descriptor file{
          ::openat(devices.get(), kNew, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444)};
      if (!file || ::write(file.get(), node.text.data(), node.text.size()) !=
                       static_cast<ssize_t>(node.text.size())) {
        return;
      }
    }
    if (::renameat(devices.get(), kNew, devices.get(), path.c_str()) != 0) return;
  }
}

std::string try_namespace(const Tree& tree) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return because("cannot create a pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string why = enter_namespace(tree);
    [[maybe_unused]] const auto written = ::write(pipe[1], why.data(), why.size());
    ::_exit(0);
  }
  const int failed = errno;
  ::close(pipe[1]);
  const link::Descriptor answer{pipe[0]};
  if (child < 0) return std::string{"cannot create a process: "} + std::strerror(failed);
  std::array<char, 256> text{};
  const ssize_t length = ::read(answer.get(), text.data(), text.size());
  ::waitpid(child, nullptr, 0);
  return {text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

}  // namespace nerve::sysfs
