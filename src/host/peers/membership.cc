#include "host/peers/membership.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/prng.h"
#include "host/peers/private_folder.h"
#include "host/peers/turn.h"
#include "host/peers/unix_socket.h"

namespace nerve::host {
namespace {

constexpr std::uint32_t kRows = kSlots / kSocketGroup;

// Taken while a process chooses its slot, so that the next one sees the choice. It waits half a
// second at most: if a process is stopped during its turn, others start anyway, and at worst two of
// them share a socket.
Turn wait_for_turn() {
  constexpr int kTries = 500;
  constexpr timespec kBetween{.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int tries = 0; tries < kTries; ++tries) {
    Turn turn = Turn::take(TurnTo::kJoin);
    if (turn || errno != EADDRINUSE) return turn;
    ::nanosleep(&kBetween, nullptr);
  }
  return {};
}

// The number of processes that use each socket of the group.
using Sharers = std::array<std::uint32_t, kSocketGroup>;

Sharers count_sharers() {
  Sharers sharers{};
  for (const std::uint32_t slot : live_slots()) ++sharers[slot % kSocketGroup];
  return sharers;
}

// Without randomness from the kernel, at least two processes differ.
std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) == sizeof seed) return seed;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(::getpid()) << 32U ^ static_cast<std::uint64_t>(now.tv_nsec);
}

// The columns in the order in which they are tried: sockets with fewer sharers first, equals in
// random order.
std::array<std::uint32_t, kSocketGroup> columns_to_try(const Sharers& sharers, Prng& random,
                                                       std::optional<std::uint32_t> first) {
  std::array<std::uint32_t, kSocketGroup> columns{};
  for (std::uint32_t i = 0; i < kSocketGroup; ++i) {
    columns[i] = i;
    std::swap(columns[i], columns[random.below(i + 1)]);
  }
  std::ranges::stable_sort(columns, {}, [&](std::uint32_t c) { return sharers[c]; });
  if (first && std::ranges::count(sharers, 0U) <= kSocketsForProcesses) {
    std::stable_partition(columns.begin(), columns.end(),
                          [&](std::uint32_t c) { return c == *first % kSocketGroup; });
  }
  return columns;
}

std::optional<std::uint32_t> slot_in(std::string_view name) {
  std::uint32_t slot = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, slot);
  if (error != std::errc{} || stop != end || slot == 0 || slot >= kSlots) return std::nullopt;
  return slot;
}

// The slots that have a socket in the folder, perhaps that of a dead process.
std::vector<std::uint32_t> sockets_in(const PrivateFolder& folder) {
  std::vector<std::uint32_t> slots;
  std::error_code error;
  for (std::filesystem::directory_iterator entry{folder.path(), error}, end; !error && entry != end;
       entry.increment(error)) {
    if (const auto slot = slot_in(entry->path().filename().string())) slots.push_back(*slot);
  }
  return slots;
}

// How a process takes a slot.
class Claim {
 public:
  Claim() : folder_{PrivateFolder::open()} {
    if (folder_) locks_ = FolderLocks::open(*folder_);
  }
  [[nodiscard]] bool is_private() const { return locks_.has_value(); }
  // From here on, slots whose abstract name another process has are taken, too. A process of ours
  // that does not see the folder may be among them, so this is the last resort.
  void ignore_strangers() { ignore_strangers_ = true; }

  // Removes the sockets that dead processes have left in the folder.
  void sweep() const {
    if (!locks_) return;
    for (const std::uint32_t slot : sockets_in(*folder_)) {
      if (!locks_->take(slot)) continue;
      (void)::unlink(folder_->path_of(name_of_slot(slot)).c_str());
      locks_->release(slot);
    }
  }

  // Nothing, with EADDRINUSE, if the slot is taken; with another errno if there cannot be one.
  std::optional<Membership> take(std::uint32_t slot) {
    if (locks_ && !locks_->take(slot)) {
      errno = EADDRINUSE;
      return std::nullopt;
    }
    Membership taken{.slot = slot, .listener = {}, .private_listener = {}, .lock = {}};
    taken.listener = hold_name(name_of_slot(slot));
    const int why = taken.listener ? 0 : errno;
    if (why == 0 || (why == EADDRINUSE && ignore_strangers_)) {
      if (locks_) taken.private_listener = hold_private(*folder_, name_of_slot(slot));
      if (taken.listener || taken.private_listener) {
        if (locks_) taken.lock = std::move(*locks_).keep();
        return taken;
      }
    }
    if (locks_) locks_->release(slot);
    errno = why;
    return std::nullopt;
  }

 private:
  std::optional<PrivateFolder> folder_;
  std::optional<FolderLocks> locks_;
  bool ignore_strangers_{};
};

// The slot is random: it is a part of every QPN, and who cannot guess those cannot forge packets. A
// new process rarely gets the slot of one that has just died, whose QPNs may still be in use
// elsewhere.
std::optional<Membership> claim_slot(const Sharers& sharers, std::optional<std::uint32_t> first,
                                     Claim& claim) {
  Prng random{random_seed()};
  const auto row = static_cast<std::uint32_t>(random.below(kRows));
  for (const std::uint32_t column : columns_to_try(sharers, random, first)) {
    for (std::uint32_t i = 0; i < kRows; ++i) {
      const std::uint32_t slot = (row + i) % kRows * kSocketGroup + column;
      if (slot == 0) continue;
      if (auto claimed = claim.take(slot)) return claimed;
      if (errno != EADDRINUSE) return std::nullopt;
    }
  }
  return std::nullopt;
}

// Those that processes hold in the private folder.
std::vector<std::uint32_t> private_slots() {
  std::vector<std::uint32_t> slots;
  const auto folder = PrivateFolder::open();
  const auto locks = folder ? FolderLocks::open(*folder) : std::nullopt;
  if (!locks) return slots;
  for (const std::uint32_t slot : sockets_in(*folder)) {
    if (locks->is_taken(slot)) slots.push_back(slot);
  }
  return slots;
}

std::vector<std::uint32_t> without_repeats(std::vector<std::uint32_t> slots) {
  std::ranges::sort(slots);
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  return slots;
}

}  // namespace

std::string name_of_slot(std::uint32_t slot) { return own_prefix() + std::to_string(slot); }

std::string name_of(std::string_view what) { return own_prefix() + std::string{what}; }

std::vector<std::uint32_t> live_slots() {
  std::vector<std::uint32_t> slots = private_slots();
  const auto names = abstract_names(own_prefix());
  if (!names) {  // without /proc, a process that accepts connections is alive
    for (std::uint32_t slot = 1; slot < kSlots; ++slot) {
      if (call(name_of_slot(slot))) slots.push_back(slot);
    }
    return without_repeats(std::move(slots));
  }
  for (const std::string& name : *names) {
    if (const auto slot = slot_in(name)) slots.push_back(*slot);
  }
  return without_repeats(std::move(slots));
}

bool all_slots_are_visible() { return ::access("/proc/net/unix", R_OK) == 0; }

bool holds_slot(pid_t pid, std::uint32_t slot) {
  if (slot == 0 || slot >= kSlots) return false;
  const Descriptor connection = call(name_of_slot(slot));
  return connection && own_peer(connection.get()) == pid;
}

std::optional<Membership> join_host(std::optional<std::uint32_t> first) {
  const Turn turn = wait_for_turn();
  const Sharers sharers = count_sharers();
  Claim claim;
  claim.sweep();
  auto joined = claim_slot(sharers, first, claim);
  if (joined || errno != EADDRINUSE || !claim.is_private()) return joined;
  claim.ignore_strangers();
  return claim_slot(sharers, first, claim);
}

void leave_host(std::uint32_t slot) {
  if (const auto folder = PrivateFolder::open()) {
    (void)::unlink(folder->path_of(name_of_slot(slot)).c_str());
  }
}

}  // namespace nerve::host
