#include "host/peers/turn.h"

#include <time.h>

#include <array>
#include <cerrno>
#include <utility>

#include "host/peers/membership.h"
#include "host/peers/private_folder.h"
#include "host/peers/unix_socket.h"

namespace nerve::host {
namespace {

constexpr std::array<const char*, 4> kNames{"joining", "ports", "statistics", "agent"};

// A process of ours that does not see the folder may have the name. None has it for long.
Descriptor wait_for_name(const std::string& name) {
  constexpr int kTries = 20;
  constexpr timespec kBetween{.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int tries = 0; tries < kTries; ++tries) {
    Descriptor held = hold_name(name);
    if (held || errno != EADDRINUSE) return held;
    ::nanosleep(&kBetween, nullptr);
  }
  return {};
}

}  // namespace

Turn Turn::take(TurnTo what) {
  Turn turn;
  const std::string name = own_prefix() + kNames[static_cast<std::size_t>(what)];
  const auto folder = PrivateFolder::open();
  auto locks = folder ? FolderLocks::open(*folder) : std::nullopt;
  if (!locks) {
    turn.name_ = hold_name(name);
    return turn;
  }
  if (!locks->take(kSlots + static_cast<std::uint32_t>(what))) {
    errno = EADDRINUSE;
    return turn;
  }
  turn.lock_ = std::move(*locks).keep();
  turn.name_ = wait_for_name(name);
  return turn;
}

}  // namespace nerve::host
