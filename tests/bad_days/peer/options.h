// The command line of a peer: `verbs_peer lead|follow FD [name=value]...`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace bad_days {

enum class Role : std::uint8_t { kLead, kFollow };
// How a peer waits: by polling, or asleep until the completion channel wakes it.
enum class Wait : std::uint8_t { kPoll, kEvent };

struct Options {
  Role role{};
  int channel{-1};  // a stream socket to the other side
  std::uint64_t seed{1};
  std::uint64_t rounds{};  // 0: until SIGTERM
  std::uint32_t largest{64 * 1024};
  std::uint32_t window{8};  // rounds in flight; with 1, one request at a time
  std::uint8_t timeout{15};
  std::uint8_t retry_count{2};
  std::uint64_t patience_ms{20'000};  // time without progress that counts as a hang
  std::uint64_t ask_ms{};             // time without an answer after which it probes the peer
  std::uint64_t pause_us{};           // between rounds of the leader
  Wait wait{Wait::kPoll};
};

// Nothing, after a line on stderr, if it is invalid.
[[nodiscard]] std::optional<Options> parse_options(std::span<char*> arguments);

}  // namespace bad_days
