// What a peer is told on its command line: `verbs_peer lead|follow FD [name=value]...`.
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
  std::uint32_t window{8};  // rounds under way at once; with 1, one request at a time
  std::uint8_t timeout{15};
  std::uint8_t retry_count{2};
  std::uint64_t patience_ms{20'000};  // without any progress, before it is a hang
  std::uint64_t ask_ms{};             // of silence, after which it asks whether the other is there
  std::uint64_t pause_us{};           // of the leader between rounds
  Wait wait{Wait::kPoll};
};

// Nothing, and a line on stderr, when it makes no sense.
[[nodiscard]] std::optional<Options> parse_options(std::span<char*> arguments);

}  // namespace bad_days
