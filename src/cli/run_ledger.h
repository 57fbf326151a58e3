// Which runs of a sweep wait, which rank has which, and who has not been heard of.
//
// A rank that is silent for too long counts as dead, and its runs wait again. One that was only
// slow may still report a run that another has done by then: both have the same result.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace nerve::cli {

class RunLedger {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kSilence{10};
  static constexpr std::uint32_t kAttempts = 3;  // with ranks that died

  RunLedger(std::vector<std::size_t> runs, std::uint32_t ranks, Clock::time_point now);

  [[nodiscard]] bool all_done() const { return left_ == 0; }
  [[nodiscard]] std::size_t left() const { return left_; }
  [[nodiscard]] bool anyone_dead() const;
  [[nodiscard]] std::size_t held_by(std::uint32_t rank) const { return ranks_[rank].runs.size(); }
  [[nodiscard]] bool is_alive(std::uint32_t rank) const { return !ranks_[rank].dead; }

  // The next run for this rank; nothing if none waits.
  [[nodiscard]] std::optional<std::size_t> take(std::uint32_t rank);
  void heard_of(std::uint32_t rank, Clock::time_point now);
  // False if it was done before.
  [[nodiscard]] bool done(std::size_t run);
  // Finds ranks that are dead. Returns the runs that have been lost too often, which are then done.
  [[nodiscard]] std::vector<std::size_t> bury(Clock::time_point now);

 private:
  struct Rank {
    Clock::time_point heard{};
    std::vector<std::size_t> runs;
    bool dead{};
  };
  struct Run {
    bool done{};
    std::uint32_t attempts{};
  };

  std::vector<Rank> ranks_;
  std::vector<Run> runs_;  // by number
  std::deque<std::size_t> waiting_;
  std::size_t left_{};
};

}  // namespace nerve::cli
