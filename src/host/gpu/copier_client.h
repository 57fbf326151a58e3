// A connection to the GPU copier: a process of ours that makes the copies of all programs of the
// user on this host.
//
// Copies in the program's own process need the lock of its CUDA context. A thread of the program
// may hold it while it waits for the very bytes that such a copy would bring; PyTorch does, in
// loss.item(). The copier has contexts of its own and opens the memory by IPC, so that no call
// of the data path enters the program's CUDA. It can also copy from the memory of one program to
// that of another in one step.
//
// There is one connection for each GPU. begin() and progress() are called with the lock of
// GpuMemory; the others may wait for the copier, and must be called without it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.h"
#include "host/gpu/copier_layout.h"
#include "host/gpu/gpu_copies.h"
#include "host/gpu/gpu_range.h"
#include "host/peers/mapping.h"

namespace nerve::host {

class CopierClient final : public GpuCopies {
 public:
  // Connects to the copier of this user, and starts it if there is none. Null, with the reason, if
  // there can be none. `program` is its file.
  [[nodiscard]] static std::unique_ptr<CopierClient> join(const cuda::Uuid& device,
                                                          const std::string& program,
                                                          std::string& why);

  [[nodiscard]] std::byte* staging() const { return memory_.bytes().data() + copier::kStagingAt; }
  // Not zero, and different for each copier that ever runs on this host.
  [[nodiscard]] std::uint64_t identity() const { return identity_; }

  // Opens an allocation, or counts another use of it. False, with the reason, if it cannot be
  // opened. Every success needs a forget(), which waits for copies of other processes.
  [[nodiscard]] bool import(const cuda::Driver& driver, const GpuRange& allocation,
                            std::string& why);
  void forget(const GpuRange& allocation);
  // Returns after all copies that were requested so far, by any process, have ended.
  void settle();

  // The copier's address of an address in imported memory; zero if there is none. With the lock.
  [[nodiscard]] std::uint64_t address_of(std::uint64_t address) const;

  [[nodiscard]] bool begin(const Copy& copy) override;
  [[nodiscard]] Progress progress(Slot slot) override;
  void leave_to_parent() override;

 private:
  struct Import {
    GpuRange allocation{};
    std::uint64_t address{};  // the copier's
    std::uint32_t uses{};
  };

  CopierClient() = default;
  [[nodiscard]] bool join(const cuda::Uuid& device, std::string& why);
  [[nodiscard]] bool ask(const copier::Request& request, std::span<const int> descriptors,
                         copier::Reply& reply);
  [[nodiscard]] copier::Area& area() const;
  void note_speed(bool slow);
  [[nodiscard]] Import* find(const GpuRange& allocation);
  [[nodiscard]] const Import* at(std::uint64_t address) const;

  Descriptor socket_;
  Descriptor wake_;
  Mapping memory_;
  std::uint64_t identity_{};
  std::uint64_t begun_{};
  std::array<std::uint64_t, kGpuSlots> last_{};  // the command that began last, for each slot
  std::array<Copy, kGpuSlots> copies_{};
  unsigned unanswered_{};
  // Copies between two GPU memories that were slow, without a fast one in between; and until when
  // no more are made.
  unsigned slow_{};
  Time avoid_until_{};

  std::mutex asking_;         // one request at a time; taken before `guard_`
  mutable std::mutex guard_;  // for the list
  std::vector<Import> imports_;
};

}  // namespace nerve::host
