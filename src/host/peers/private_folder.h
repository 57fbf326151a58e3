// A folder that only our user can enter: /run/user/<uid>/nerve-<network namespace>.
//
// Abstract unix names belong to whoever binds them first, and any process can call them. A socket
// in a private folder can be neither taken nor called by another user. The folder /run/user/<uid>
// is made by the login manager; machines without one have none, and processes that cannot see it
// are still found by their abstract names. It is looked for by its path and not by XDG_RUNTIME_DIR,
// so that processes of one user meet whatever their environment is.
//
// Unix sockets in a file system ignore network namespaces, so each namespace has its own folder.
//
//   locks    a file of which each byte is a lock (see Number); the kernel releases the locks of a
//            process that dies
//   <slot>   the socket of the process that has the slot
//
// A killed process leaves its socket behind. The next process that joins removes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "host/peers/mapping.h"

namespace nerve::host {

// All names of this user's processes begin with it: "nerve/<uid>/".
[[nodiscard]] std::string own_prefix();

class PrivateFolder {
 public:
  // Nothing if this machine has none for our user. Creates the part below /run/user/<uid>.
  [[nodiscard]] static std::optional<PrivateFolder> open();

  // The place of a name that begins with own_prefix().
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit PrivateFolder(std::string path) : path_{std::move(path)} {}
  std::string path_;
};

// The locks of a folder, as one owner takes them.
class FolderLocks {
 public:
  // Nothing if the file cannot be opened.
  [[nodiscard]] static std::optional<FolderLocks> open(const PrivateFolder& folder);

  [[nodiscard]] bool take(std::uint32_t number) const;  // false if another owner has it
  void release(std::uint32_t number) const;
  [[nodiscard]] bool is_taken(std::uint32_t number) const;  // by another owner
  // Closing it releases all that were taken.
  [[nodiscard]] Descriptor keep() && { return std::move(file_); }

 private:
  explicit FolderLocks(Descriptor file) : file_{std::move(file)} {}
  Descriptor file_;
};

}  // namespace nerve::host
