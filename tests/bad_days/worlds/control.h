// What the two processes of a world tell each other beside the traffic under test: over a socket
// that keeps the boundaries of messages.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "tests/bad_days/worlds/memory.h"

namespace worlds {

inline constexpr std::size_t kMostQps = 4;
inline constexpr std::size_t kMostWindows = 64;
inline constexpr std::size_t kGids = 2;

enum class Word : std::uint8_t {
  kCard,    // where the peer's objects are
  kReady,   // all QPs can receive
  kStrike,  // a QP is about to end before its time
  kStruck,  // ... and has
  kWindow,  // the key of a window of type 1, which its bind has chosen
  kIdle,    // nothing more will be posted, and everything that was expected has come
  kReport,  // how far every QP came
  kOver,    // all objects are gone
};

struct Card {
  std::array<ibv_gid, kGids> gids{};
  std::array<std::uint64_t, kZones> addresses{};
  std::array<std::uint32_t, kZones> rkeys{};
  std::array<std::uint32_t, kMostQps> qpns{};
  std::array<std::uint64_t, kMostQps> region_addresses{};
  std::array<std::uint32_t, kMostQps> region_rkeys{};
  std::array<std::uint32_t, kMostWindows> windows{};
};

struct Report {
  struct Qp {
    std::uint32_t posted{};
    std::uint32_t confirmed{};  // the first so many requests are known to have been executed
    std::uint32_t delivered{};  // the peer's requests before this one have had their receive
  };
  std::array<Qp, kMostQps> qps{};
};

struct Message {
  Word word{};
  std::uint32_t qp{};  // or the window
  std::uint32_t key{};
  Card card{};
  Report report{};
};

class Control {
 public:
  explicit Control(int fd) : fd_{fd} {}

  void send(const Message& message);
  // The next message that has come.
  [[nodiscard]] std::optional<Message> poll();
  // Waits for a message of this kind, which must be the next.
  [[nodiscard]] Message wait(Word word);
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace worlds
