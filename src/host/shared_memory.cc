#include "host/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nerve::host {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

std::optional<SharedMemory> make_shared_memory(std::size_t size) {
  Descriptor fd{::memfd_create("nerve", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return std::nullopt;
  }
  Mapping mapping{fd.get(), size};
  if (!mapping) return std::nullopt;
  return SharedMemory{std::move(fd), std::move(mapping)};
}

std::optional<Mapping> map_shared_memory(int descriptor, std::size_t least, std::size_t most) {
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  struct stat about {};
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(descriptor, &about) != 0 ||
      about.st_size < 0) {
    return std::nullopt;
  }
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size < least || size > most) return std::nullopt;
  Mapping mapping{descriptor, size};
  if (!mapping) return std::nullopt;
  return mapping;
}

}  // namespace nerve::host
