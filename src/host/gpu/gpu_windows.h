// Parts of messages that were fetched from GPU memory, in the windows of one staging area.
//
// A window holds up to kGpuWindowSize contiguous bytes of one message, and serves only that
// message. It is used again for another one when it has been sent, or when it has not been asked
// for in a while: its QP may be gone. While a burst refers to a window, the window keeps its bytes.
#pragma once

#include <array>
#include <cstdint>

#include "base/late_memory.h"
#include "base/time.h"
#include "host/gpu/gpu_staging.h"

namespace nerve::host {

class GpuWrites;

class GpuWindows {
 public:
  GpuWindows(GpuStaging& staging, GpuWrites& writes);

  [[nodiscard]] LateMemory::Fetched fetch(const LateMemory::Wanted& wanted, Time at);
  // The frames for which the engine fetched have been sent.
  void release(const void* engine);

  // Whether a copy out of this range is under way.
  [[nodiscard]] bool busy(std::uint64_t address, std::uint64_t length);
  [[nodiscard]] GpuStaging& staging() const { return staging_; }

 private:
  enum class Use : std::uint8_t { kEmpty, kCopying, kFilled };
  struct Window {
    Use use{};
    bool pinned{};  // by its engine
    const void* engine{};
    std::uint64_t address{};
    std::uint64_t length{};
    std::uint64_t message{};
    std::uint64_t sent_to{};  // the bytes before this address were asked for
    Time used{};

    [[nodiscard]] std::uint64_t end() const { return address + length; }
  };

  [[nodiscard]] std::size_t index_of(const Window& window) const;
  // The window that holds this range for the engine and message of `wanted`; null if there is none.
  [[nodiscard]] Window* find(const LateMemory::Wanted& wanted, std::uint64_t address,
                             std::uint64_t length);
  // Finds out whether its copy has ended. A window whose copy failed is empty again.
  LateMemory::Progress settle(Window& window);
  // A window for other bytes; null if all are needed. A window that holds bytes which were not sent
  // yet is taken only with `unsent`, and only after a while.
  [[nodiscard]] Window* choose(Time at, bool unsent);
  [[nodiscard]] bool fill(Window& window, const LateMemory::Wanted& wanted, std::uint64_t address,
                          std::uint64_t length, Time at);
  void read_ahead(const Window& behind, const LateMemory::Wanted& wanted, Time at);
  [[nodiscard]] std::size_t spare() const;

  GpuStaging& staging_;
  GpuWrites& writes_;
  std::array<Window, kGpuWindows> windows_{};
};

}  // namespace nerve::host
