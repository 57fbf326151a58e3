// Work that is done in processes of its own, several at a time: a run that fails, or that the
// kernel ends for want of memory, is one cell of a sweep and not the sweep.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nerve::cli {

// What a process has to say of its work, in memory that both see.
struct Tell {
  std::uint64_t now_ps{};
  std::uint64_t events{};
  char error[512]{};  // a text, when it failed

  void fail(const std::string& why);
};

struct Done {
  bool well{};
  std::string why;  // when not
};

class SweepPool {
 public:
  // Runs in the child; true when it went well.
  using Work = std::function<bool(std::size_t number, Tell& tell)>;
  // Runs here, after each one that ended, and every so often.
  using OnDone = std::function<void(std::size_t number, const Done& done)>;
  using OnTick = std::function<void(std::size_t done, std::size_t running, std::uint64_t events)>;

  SweepPool(std::size_t count, std::size_t at_once);
  ~SweepPool();
  SweepPool(const SweepPool&) = delete;
  SweepPool& operator=(const SweepPool&) = delete;

  // False: Ctrl-C; what had not ended is neither done nor told.
  [[nodiscard]] bool run(const Work& work, const OnDone& on_done, const OnTick& on_tick);

 private:
  struct Child {
    int pid{};
    std::size_t number{};
  };
  void start(std::size_t number, const Work& work);
  bool reap(const OnDone& on_done);  // whether one had ended
  void end_all();
  [[nodiscard]] std::uint64_t events() const;

  std::size_t count_;
  std::size_t at_once_;
  std::size_t done_{};
  Tell* tells_{};  // one for each; none where memory could not be had
  std::vector<Child> running_;
};

}  // namespace nerve::cli
