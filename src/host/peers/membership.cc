#include "host/peers/membership.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/prng.h"
#include "host/peers/unix_socket.h"

namespace nerve::host {
namespace {

std::string prefix() { return "nerve/" + std::to_string(::geteuid()) + "/"; }

constexpr std::uint32_t kRows = kSlots / kSocketGroup;

// Held while a process chooses its slot, so that the next one sees the choice. It waits half a
// second at most: if a process is stopped while holding it, others start anyway, and at worst two
// of them share a socket.
Descriptor wait_for_turn() {
  constexpr int kTries = 500;
  constexpr timespec kBetween{.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int tries = 0; tries < kTries; ++tries) {
    Descriptor turn = hold_name(prefix() + "joining");
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

// The slot is random: it is a part of every QPN, and who cannot guess those cannot forge packets. A
// new process rarely gets the slot of one that has just died, whose QPNs may still be in use
// elsewhere.
std::optional<Membership> claim_slot(const Sharers& sharers, std::optional<std::uint32_t> first) {
  Prng random{random_seed()};
  const auto row = static_cast<std::uint32_t>(random.below(kRows));
  for (const std::uint32_t column : columns_to_try(sharers, random, first)) {
    for (std::uint32_t i = 0; i < kRows; ++i) {
      const std::uint32_t slot = (row + i) % kRows * kSocketGroup + column;
      if (slot == 0) continue;
      if (Descriptor listener = hold_name(name_of_slot(slot))) {
        return Membership{.slot = slot, .listener = std::move(listener)};
      }
      if (errno != EADDRINUSE) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string name_of_slot(std::uint32_t slot) { return prefix() + std::to_string(slot); }

std::string name_of(std::string_view what) { return prefix() + std::string{what}; }

std::string name_of_ports() { return name_of("ports"); }

std::vector<std::uint32_t> live_slots() {
  std::vector<std::uint32_t> slots;
  const auto names = abstract_names(prefix());
  if (!names) {  // without /proc, a process that accepts connections is alive
    for (std::uint32_t slot = 1; slot < kSlots; ++slot) {
      if (call(name_of_slot(slot))) slots.push_back(slot);
    }
    return slots;
  }
  for (const std::string& name : *names) {
    std::uint32_t slot = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data(), end, slot);
    if (error == std::errc{} && stop == end && slot > 0 && slot < kSlots) slots.push_back(slot);
  }
  return slots;
}

bool holds_slot(pid_t pid, std::uint32_t slot) {
  if (slot == 0 || slot >= kSlots) return false;
  const Descriptor connection = call(name_of_slot(slot));
  return connection && own_peer(connection.get()) == pid;
}

std::optional<Membership> join_host(std::optional<std::uint32_t> first) {
  const Descriptor turn = wait_for_turn();
  return claim_slot(count_sharers(), first);
}

}  // namespace nerve::host
