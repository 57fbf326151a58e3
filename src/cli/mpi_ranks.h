// The ranks that mpirun has started this program as, by libnerve-mpi.so (src/mpi/door.h).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "sim/ranks.h"

namespace nerve::cli {

class MpiRanks final : public sim::Ranks {
 public:
  // Null if this process was not started by mpirun, or is its only one. The error says why the
  // ranks cannot work together.
  [[nodiscard]] static Result<std::unique_ptr<MpiRanks>, std::string> find();
  // Waits for the other ranks; if a call has failed, ends them.
  ~MpiRanks() override;
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t count() const override { return count_; }
  [[nodiscard]] bool exchange(std::span<const sim::Packed> out, std::span<sim::Packed> in) override;
  [[nodiscard]] bool gather(const sim::Packed& mine, std::span<sim::Packed> all) override;
  [[nodiscard]] std::string trouble() const override;

  // Messages that nobody waits for; one to a rank that has died is lost.
  void send(std::uint32_t to, const sim::Packed& message);
  // Receives one, if there is one: its sender.
  [[nodiscard]] std::optional<std::uint32_t> poll(sim::Packed& message);
  // Some have died: do not wait for them at the end.
  void leave() { leaves_ = true; }

 private:
  struct Calls;
  explicit MpiRanks(std::unique_ptr<Calls> calls);

  std::unique_ptr<Calls> calls_;
  std::uint32_t rank_{};
  std::uint32_t count_{};
  bool failed_{};
  bool leaves_{};
};

// Whether an MPI launcher has started several of this program.
[[nodiscard]] bool started_by_mpi();
// Whether mpirun lets the other ranks go on when one has died: then they do not notice.
[[nodiscard]] bool deaths_go_unnoticed();

}  // namespace nerve::cli
