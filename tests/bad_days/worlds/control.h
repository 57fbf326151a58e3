// Messages between the two processes of a world, apart from the traffic under test: over a socket
// that keeps message boundaries.
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
  kCard,    // the peer's objects
  kReady,   // all QPs can receive
  kStrike,  // a QP is about to end early
  kStruck,  // ... and has ended
  kWindow,  // the key of a type 1 window, which its bind has chosen
  kIdle,    // nothing more will be posted, and everything expected has arrived
  kReport,  // the progress of every QP
  kOver,    // all objects are destroyed
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
    std::uint32_t confirmed{};  // this many requests are known to have been executed
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
  // The next message, if one has arrived.
  [[nodiscard]] std::optional<Message> poll();
  // Waits for the next message, which must be of this kind.
  [[nodiscard]] Message wait(Word word);
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace worlds
