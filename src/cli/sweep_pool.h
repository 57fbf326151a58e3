// Runs work in child processes, several at a time, so that a run that fails or is killed for lack
// of memory is one failed cell and does not end the sweep.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nerve::cli {

// The state of a run, in memory shared between the child and this process.
struct RunStatus {
  std::uint64_t now_ps{};
  std::uint64_t events{};
  char error[512]{};  // the error message, if it failed

  void fail(const std::string& why);
};

struct Done {
  bool well{};
  std::string why;  // if not
};

class SweepPool {
 public:
  // Runs in the child; returns true on success.
  using Work = std::function<bool(std::size_t number, RunStatus& run)>;
  // Run in this process: after each run that ended, and periodically.
  using OnDone = std::function<void(std::size_t number, const Done& done)>;
  using OnTick = std::function<void(std::size_t done, std::size_t running, std::uint64_t events)>;

  SweepPool(std::size_t count, std::size_t at_once);
  ~SweepPool();
  SweepPool(const SweepPool&) = delete;
  SweepPool& operator=(const SweepPool&) = delete;
  [[nodiscard]] bool usable() const { return statuses_ != nullptr; }  // else run() reports it

  // Returns false on Ctrl-C; runs that had not ended then are not reported.
  [[nodiscard]] bool run(const Work& work, const OnDone& on_done, const OnTick& on_tick);

  // The steps of run(), for a caller that chooses what to run next.
  [[nodiscard]] bool has_room() const { return running_.size() < at_once_; }
  [[nodiscard]] std::size_t running() const { return running_.size(); }
  void start(std::size_t number, const Work& work);
  bool reap(const OnDone& on_done);  // true if one had ended
  [[nodiscard]] std::uint64_t events() const;

 private:
  struct Child {
    int pid{};
    std::size_t number{};
  };
  void end_all();

  std::size_t count_;
  std::size_t at_once_;
  std::size_t done_{};
  RunStatus* statuses_{};  // one for each run; null if memory could not be mapped
  std::vector<Child> running_;
};

}  // namespace nerve::cli
