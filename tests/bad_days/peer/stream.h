// An exchange in which both sides check every byte.
//
// In each round the leader WRITEs a pattern into the follower's memory, READs it back, and SENDs a
// message with another pattern. The follower compares the message and the written data, and answers
// with the number of the round; the leader compares what it read. A place is reused only when its
// round is over, so that at any time only one content is right.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/bad_days/peer/endpoint.h"

namespace bad_days {

// How an exchange ended.
struct Outcome {
  enum class Kind : std::uint8_t { kOk, kDead, kWrong, kHang, kRefused };
  Kind kind{};
  std::string what;
};

class Stream {
 public:
  Stream(const Options& options, Endpoint& endpoint);

  // Before the two ends connect: posts receives.
  bool prepare();
  [[nodiscard]] Outcome run(const std::atomic<bool>& stop);

  [[nodiscard]] std::uint64_t rounds() const { return finished_; }
  [[nodiscard]] static std::size_t memory_for(const Options& options);

 private:
  enum class Kind : std::uint64_t { kWrite, kRead, kSend, kAnswer, kProbe };
  struct Round {
    std::uint32_t length{};
    std::uint32_t open{};  // completions and answers that it waits for
  };

  bool begin_round();
  bool post_step(std::uint64_t round, Kind kind);
  bool take(const Completion& done, Outcome& outcome);
  bool take_message(const Completion& done, Outcome& outcome);
  bool take_answer(const Completion& done, Outcome& outcome);
  bool check_read(std::uint64_t round, Outcome& outcome);
  bool close_one(std::uint64_t round);
  bool probe();
  [[nodiscard]] bool receive_into(std::uint64_t slot);
  [[nodiscard]] std::size_t place(std::size_t area, std::uint64_t round) const;
  void tell_beat();

  const Options& options_;
  Endpoint& endpoint_;
  std::vector<Round> rounds_;
  std::uint64_t begun_{};
  std::uint64_t finished_{};
  std::uint64_t answered_{};
  std::uint64_t progress_ms_{};
  std::uint64_t beat_ms_{};
};

}  // namespace bad_days
