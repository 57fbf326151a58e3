// One end of an RC connection, using only public verbs, and what it can find out about the other
// end. Objects are never destroyed: peers end as programs do, some of them suddenly.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tests/bad_days/peer/options.h"

namespace bad_days {

// What the two ends exchange before they connect.
struct Card {
  ibv_gid gid{};
  std::uint32_t qpn{};
  std::uint32_t psn{};
  std::uint32_t rkey{};
  std::uint64_t address{};
};

// Set in the ids of receives: a completion with an error does not tell otherwise.
inline constexpr std::uint64_t kReceiveBit = std::uint64_t{1} << 63U;

struct Completion {
  std::uint64_t id{};
  ibv_wc_status status{};
  std::uint32_t length{};
  std::uint64_t at_ms{};  // timestamp, by the clock of now_ms()
};

struct Work {
  std::uint64_t id{};
  std::size_t at{};  // in our memory
  std::uint32_t length{};
  std::size_t remote_at{};  // in the peer's memory
};

class Endpoint {
 public:
  // Nothing, after a line on stderr that names the call that failed.
  [[nodiscard]] static std::optional<Endpoint> open(const Options& options, std::size_t bytes);

  // Exchanges cards over the channel; when it returns true, both ends can receive.
  [[nodiscard]] bool meet();

  bool post_send(ibv_wr_opcode opcode, const Work& work);
  bool post_receive(const Work& work);
  // The next completion; waits a little if there is none.
  std::optional<Completion> next();

  [[nodiscard]] std::uint32_t qpn() const { return own_.qpn; }
  [[nodiscard]] std::span<std::byte> memory() { return memory_; }
  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }
  // When a send last completed, or when the first one was posted after a pause: since then there
  // has been no answer.
  [[nodiscard]] std::uint64_t waiting_since_ms() const { return waiting_since_; }
  // The other process has closed its end of the channel, or reported that it is done.
  enum class Other : std::uint8_t { kThere, kDone, kGone };
  [[nodiscard]] Other other() const;
  void tell_done() const;
  // Destroys all objects, as a program does that cleans up. Zero if every call succeeds.
  int destroy();

 private:
  explicit Endpoint(const Options& options) : options_{options} {}
  bool make(std::size_t bytes);
  bool connect(const Card& card);
  std::optional<Completion> poll();
  void sleep();

  Options options_;
  std::vector<std::byte> memory_;
  ibv_context* context_{};
  ibv_comp_channel* events_{};
  ibv_pd* pd_{};
  ibv_cq_ex* cq_{};
  ibv_mr* mr_{};
  ibv_qp* qp_{};
  Card own_;
  Card card_;
  std::uint32_t outstanding_{};  // sends without a completion
  std::uint64_t waiting_since_{};
};

[[nodiscard]] std::uint64_t now_ms();

}  // namespace bad_days
