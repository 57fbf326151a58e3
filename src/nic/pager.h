// Access to on-demand regions: memory that is registered but need not be mapped.
//
// The engine asks the pager before it touches a byte of such a region. Without this, an access to
// an unmapped page would end the whole process with a signal; with it, the access is refused like
// one outside the region, and the peer sees a remote access error.
#pragma once

#include <cstdint>

namespace nerve::nic {

class Pager {
 public:
  virtual ~Pager() = default;

  // Brings the pages of [address, address + length) into memory. False: some of them are not
  // mapped, or not with the right to write when `for_write` is set.
  [[nodiscard]] virtual bool fault_in(std::uint64_t address, std::uint64_t length,
                                      bool for_write) = 0;
};

}  // namespace nerve::nic
