#include "host/peers/private_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace nerve::host {
namespace {

bool is_private(const std::string& folder) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & 077U) == 0;
}

struct flock lock_of(short type, std::uint32_t number) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(number);
  lock.l_len = 1;
  return lock;
}

}  // namespace

std::string own_prefix() { return "nerve/" + std::to_string(::geteuid()) + "/"; }

std::optional<PrivateFolder> PrivateFolder::open() {
  const std::string user = "/run/user/" + std::to_string(::geteuid());
  struct stat network {};
  if (!is_private(user) || ::stat("/proc/self/ns/net", &network) != 0) return std::nullopt;
  std::string path = user + "/nerve-" + std::to_string(network.st_ino);
  if (is_private(path)) return PrivateFolder{std::move(path)};
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return std::nullopt;
  if (!is_private(path)) return std::nullopt;
  return PrivateFolder{std::move(path)};
}

std::string PrivateFolder::path_of(const std::string& name) const {
  std::string rest = name.substr(own_prefix().size());
  std::ranges::replace(rest, '/', '-');
  return path_ + "/" + rest;
}

std::optional<FolderLocks> FolderLocks::open(const PrivateFolder& folder) {
  Descriptor file{
      ::open((folder.path() + "/locks").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file) return std::nullopt;
  return FolderLocks{std::move(file)};
}

bool FolderLocks::take(std::uint32_t number) const {
  struct flock lock = lock_of(F_WRLCK, number);
  return ::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0;
}

void FolderLocks::release(std::uint32_t number) const {
  struct flock lock = lock_of(F_UNLCK, number);
  (void)::fcntl(file_.get(), F_OFD_SETLK, &lock);
}

bool FolderLocks::is_taken(std::uint32_t number) const {
  struct flock lock = lock_of(F_WRLCK, number);
  return ::fcntl(file_.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace nerve::host
