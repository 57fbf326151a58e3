// Memory shared by two processes: created by one, sent to the other as a descriptor.
//
// It has no name, so it disappears with the last process that maps it, and no limit of /dev/shm
// applies. Its size is sealed, so that the other side cannot truncate it and kill a reader with
// SIGBUS.
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

// What processes other than the creator may do with it.
enum class Others : std::uint8_t { kRead, kWrite };

// Zeroed. Nothing, with errno, if the kernel refuses.
[[nodiscard]] std::optional<SharedMemory> make_shared_memory(std::size_t size, Others others);

// Maps memory that another process sent, if it is sealed and `least` to `most` bytes long.
[[nodiscard]] std::optional<Mapping> map_shared_memory(int descriptor, std::size_t least,
                                                       std::size_t most, Others others);

}  // namespace nerve::host
