// The GPU memory that programs have given to the copier, by the copier's addresses.
//
// A copy enters all the memory that it uses before it begins, and leaves it when it has ended.
// Memory that is about to be closed cannot be entered, and is closed when all copies have left it:
// no copy ever uses an address that is not mapped, which would end the CUDA context.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cuda/driver.h"
#include "host/gpu/copier_layout.h"
#include "link/descriptor.h"

namespace nerve::copier {

class Imports {
 public:
  struct Memory {
    std::uint64_t address{};
    std::uint64_t size{};
    std::optional<cuda::Allocation> allocation;  // if it came as a descriptor
    cuda::Context context{};
    std::uint64_t copies{};  // under way
  };

  explicit Imports(const cuda::Driver& driver) : driver_{driver} {}

  // Opens memory in a context; zero, with the reason, if CUDA refuses.
  [[nodiscard]] std::uint64_t open(cuda::Context context, cuda::Device device,
                                   const host::copier::Request& request,
                                   const link::Descriptor& descriptor, cuda::Status& why);
  // Closes it. Calls `meanwhile` again and again while copies use it.
  void close(std::uint64_t address, const std::function<void()>& meanwhile);

  // Null if no such memory is open.
  [[nodiscard]] Memory* enter(std::uint64_t address, std::uint64_t length);
  void leave(Memory& memory);

 private:
  [[nodiscard]] cuda::Status map(Memory& memory, cuda::Device device, int descriptor);
  [[nodiscard]] bool is_busy(const Memory& memory);

  const cuda::Driver& driver_;
  std::mutex guard_;
  std::vector<std::unique_ptr<Memory>> all_;
};

}  // namespace nerve::copier
