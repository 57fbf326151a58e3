// Access to memory that the engine cannot dereference.
//
// Host memory needs no port: a null port means "the address is a pointer". Everything else (a GPU,
// a file, a simulated host without memory) implements these calls. The caller has already checked
// bounds and permission; a port only moves bytes.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace nerve {

class MemoryPort {
 public:
  virtual ~MemoryPort() = default;

  virtual void read(std::uint64_t address, MutableBytes into) = 0;
  virtual void write(std::uint64_t address, Bytes from) = 0;

  // Operates on one aligned 64-bit word. The operation is atomic with respect to every other access
  // through this port and, where the memory is shared with a processor, with respect to that
  // processor's own atomic instructions. Returns the previous value.
  virtual std::uint64_t compare_swap(std::uint64_t address, std::uint64_t expected,
                                     std::uint64_t desired) = 0;
  virtual std::uint64_t fetch_add(std::uint64_t address, std::uint64_t addend) = 0;
  virtual void store_word(std::uint64_t address, std::uint64_t value) = 0;

  // False for memory that has an address space but no contents: lengths are transferred, bytes are
  // not.
  [[nodiscard]] virtual bool has_contents() const { return true; }
};

}  // namespace nerve
