// Memory that two processes see: made by one, sent to the other as a descriptor.
//
// It has no name, so nothing is left of it when the last of them ends, and no limit of /dev/shm
// applies. Its size is sealed: who maps it cannot be killed by the other side cutting it short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "host/peers/mapping.h"

namespace nerve::host {

struct SharedMemory {
  Descriptor descriptor;
  Mapping mapping;
};

// What others than the maker may do with it.
enum class Others : std::uint8_t { kRead, kWrite };

// Zeroed. Nothing, and errno, when the kernel refuses.
[[nodiscard]] std::optional<SharedMemory> make_shared_memory(std::size_t size, Others others);

// Maps what another process sent, if it is sealed and between `least` and `most` bytes long.
[[nodiscard]] std::optional<Mapping> map_shared_memory(int descriptor, std::size_t least,
                                                       std::size_t most, Others others);

}  // namespace nerve::host
