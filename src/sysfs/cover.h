// Makes room for new names in a directory that cannot be changed (sysfs, a /dev of root): covers it
// with a tmpfs in which all original entries are bind-mounted.
#pragma once

#include <string>
#include <vector>

namespace nerve::sysfs {

struct Cover {
  std::string folder;
  std::vector<std::string> names;  // to be created in it as empty directories
  bool whole{};                    // the directory itself is covered, not only the names
};

// If all names exist as directories (the kernel has RDMA devices), only they are covered. Entries
// that appear later in the covered directory itself are not visible. Returns an empty string, or
// the error.
[[nodiscard]] std::string make_room(Cover& cover);

// Makes the cover read-only.
[[nodiscard]] std::string protect(const Cover& cover);

}  // namespace nerve::sysfs
