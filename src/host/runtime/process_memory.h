// Which memory of this process is mapped.
#pragma once

#include <cstddef>

#include "nic/pager.h"

namespace nerve::host {

[[nodiscard]] bool is_mapped(const void* address, std::size_t length);

// Faults in pages of on-demand regions, as a device with page fault support has the kernel do.
class ProcessPager final : public nic::Pager {
 public:
  [[nodiscard]] bool fault_in(std::uint64_t address, std::uint64_t length, bool for_write) override;
};

}  // namespace nerve::host
