#include "sysfs/cover.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>

#include "link/descriptor.h"

namespace nerve::sysfs {
namespace {

std::string because(const std::string& what) { return what + ": " + std::strerror(errno); }

bool is_folder(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 && S_ISDIR(file.st_mode);
}

bool all_there(const Cover& cover) {
  return std::ranges::all_of(
      cover.names, [&](const std::string& name) { return is_folder(cover.folder + "/" + name); });
}

std::string mount_memory(const std::string& folder) {
  const bool mounted =
      ::mount("nerve", folder.c_str(), "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755") == 0;
  return mounted ? "" : because("cannot mount a tmpfs over " + folder);
}

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open{::opendir(folder.c_str()), ::closedir};
  while (open != nullptr) {
    const dirent* const entry = ::readdir(open.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

// /dev/ptmx looks for pts in the directory in which it was opened; bind-mounted alone it finds
// none. So it becomes a symlink into a copy of the original directory.
std::string restore_terminals(int copy, const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/')) + "/.nerve";
  if (::mkdir(folder.c_str(), 0755) != 0) return because(folder);
  if (::move_mount(copy, "", AT_FDCWD, folder.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
    return because("cannot move " + folder);
  }
  return ::symlink(".nerve/ptmx", path.c_str()) == 0 ? "" : because(path);
}

// The original directory, and a copy of it that can be mounted elsewhere.
struct Before {
  link::Descriptor folder;
  link::Descriptor copy;
};

// Makes the original entry `name` available at `path`.
std::string restore(const Before& before, const std::string& name, const std::string& path) {
  const int folder = before.folder.get();
  struct stat file {};
  if (::fstatat(folder, name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0) return {};  // gone
  if (S_ISLNK(file.st_mode)) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = ::readlinkat(folder, name.c_str(), target.data(), target.size() - 1);
    if (length < 0 || ::symlink(target.data(), path.c_str()) != 0) return because(path);
    return {};
  }
  if (name == "ptmx" && S_ISCHR(file.st_mode)) return restore_terminals(before.copy.get(), path);
  if (S_ISDIR(file.st_mode)) {
    if (::mkdir(path.c_str(), 0755) != 0) return because(path);
  } else {
    const link::Descriptor made{
        ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444)};
    if (!made) return because(path);
  }
  const std::string from = "/proc/self/fd/" + std::to_string(folder) + "/" + name;
  const bool bound = ::mount(from.c_str(), path.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0;
  return bound ? "" : because("cannot bind " + path);
}

}  // namespace

std::string make_room(Cover& cover) {
  if (all_there(cover)) {
    for (const std::string& name : cover.names) {
      if (std::string why = mount_memory(cover.folder + "/" + name); !why.empty()) return why;
    }
    return {};
  }
  constexpr unsigned kCopy = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
  const char* const folder = cover.folder.c_str();
  const Before before{.folder = link::Descriptor{::open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)},
                      .copy = link::Descriptor{::open_tree(AT_FDCWD, folder, kCopy)}};
  if (!before.folder || !before.copy) return because(cover.folder);
  cover.whole = true;
  const std::vector<std::string> entries = entries_of(cover.folder);
  if (std::string why = mount_memory(cover.folder); !why.empty()) return why;
  for (const std::string& name : entries) {
    if (std::ranges::find(cover.names, name) != cover.names.end()) continue;
    if (std::string why = restore(before, name, cover.folder + "/" + name); !why.empty()) {
      return why;
    }
  }
  for (const std::string& name : cover.names) {
    const std::string path = cover.folder + "/" + name;
    if (::mkdir(path.c_str(), 0755) != 0) return because(path);
  }
  return {};
}

std::string protect(const Cover& cover) {
  constexpr unsigned long kReadOnly = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC;
  const auto close = [&](const std::string& folder) {
    return ::mount(nullptr, folder.c_str(), nullptr, kReadOnly, nullptr) == 0;
  };
  if (cover.whole) return close(cover.folder) ? "" : because(cover.folder);
  for (const std::string& name : cover.names) {
    if (!close(cover.folder + "/" + name)) return because(cover.folder + "/" + name);
  }
  return {};
}

}  // namespace nerve::sysfs
