// Room for new names in a folder that takes none (sysfs, somebody else's /dev): another folder is
// laid over it, in memory, with all that was in it bound where it was.
#pragma once

#include <string>
#include <vector>

namespace nerve::offer {

struct Cover {
  std::string folder;
  std::vector<std::string> names;  // that are to be empty folders in it
  bool whole{};                    // the folder itself is covered, not only the names
};

// Where all names are folders already (the kernel has RDMA devices), they alone are covered. What
// appears in the folder later, but not below it, is not seen. Empty, or what stood in the way.
[[nodiscard]] std::string make_room(Cover& cover);

// Nothing more can be made there.
[[nodiscard]] std::string protect(const Cover& cover);

}  // namespace nerve::offer
