#include "offer/namespace.h"

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
#include "offer/cover.h"

namespace nerve::offer {
namespace {

std::string because(const std::string& what) { return what + ": " + std::strerror(errno); }

bool write_file(const char* path, const std::string& text, int flags = 0) {
  const link::Descriptor file{::open(path, O_WRONLY | O_CLOEXEC | flags, 0444)};
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// In the new user namespace everybody has the numbers that he had.
std::string unshare_as_user() {
  const std::string user = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return because("no user namespace");
  // Who may map his own group only must give up changing groups first.
  if (!write_file("/proc/self/setgroups", "deny") ||
      !write_file("/proc/self/gid_map", group + " " + group + " 1") ||
      !write_file("/proc/self/uid_map", user + " " + user + " 1")) {
    return because("no user in the user namespace");
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

std::string enter_namespace(const Tree& tree) {
  const bool as_root = ::unshare(CLONE_NEWNS) == 0;
  if (!as_root) {
    if (std::string why = unshare_as_user(); !why.empty()) return why;
  }
  // What is mounted from now on is ours alone; what others mount still arrives.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return because("mounts cannot be made private");
  }
  std::vector<Cover> covers{{"/sys/class", {"infiniband", "infiniband_verbs"}},
                            {"/dev", {"infiniband"}}};
  for (Cover& cover : covers) {
    if (std::string why = make_room(cover); !why.empty()) return why;
  }
  for (const Node& node : tree) {
    if (std::string why = make_node(node); !why.empty()) return why;
  }
  if (as_root) return {};
  // Folders of ours belong to the user, and those that they stand for did not.
  for (const Cover& cover : covers) {
    if (std::string why = protect(cover); !why.empty()) return why;
  }
  return {};
}

std::string try_namespace(const Tree& tree) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return because("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string why = enter_namespace(tree);
    [[maybe_unused]] const auto told = ::write(pipe[1], why.data(), why.size());
    ::_exit(0);
  }
  const int failed = errno;
  ::close(pipe[1]);
  const link::Descriptor answer{pipe[0]};
  if (child < 0) return std::string{"no process: "} + std::strerror(failed);
  std::array<char, 256> text{};
  const ssize_t length = ::read(answer.get(), text.data(), text.size());
  ::waitpid(child, nullptr, 0);
  return {text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

}  // namespace nerve::offer
