#include "host/peers/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nerve::host {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

std::optional<SharedMemory> make_shared_memory(std::size_t size, Others others) {
  Descriptor fd{::memfd_create("nerve", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return std::nullopt;
  Mapping mapping{fd.get(), size, PROT_READ | PROT_WRITE};
  // Our own writable mapping exists already and is not affected by the seal.
  const int seals = kSeals | F_SEAL_SEAL | (others == Others::kRead ? F_SEAL_FUTURE_WRITE : 0);
  if (!mapping || ::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) return std::nullopt;
  return SharedMemory{std::move(fd), std::move(mapping)};
}

std::optional<Mapping> map_shared_memory(int descriptor, std::size_t least, std::size_t most,
                                         Others others) {
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  struct stat about {};
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(descriptor, &about) != 0 ||
      about.st_size < 0) {
    return std::nullopt;
  }
  const auto size = static_cast<std::size_t>(about.st_size);
  if (size < least || size > most) return std::nullopt;
  Mapping mapping{descriptor, size, others == Others::kRead ? PROT_READ : PROT_READ | PROT_WRITE};
  if (!mapping) return std::nullopt;
  return mapping;
}

}  // namespace nerve::host
