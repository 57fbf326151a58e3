#include "host/membership.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "host/unix_socket.h"

namespace nerve::host {
namespace {

std::string prefix() { return "nerve/" + std::to_string(::geteuid()) + "/"; }

constexpr std::uint32_t kRows = kSlots / kSocketGroup;
constexpr int kAttempts = 4;

// How many processes, but for one, use each socket of the group.
using Sharers = std::array<std::uint32_t, kSocketGroup>;

Sharers count_sharers(std::uint32_t but_for) {
  Sharers sharers{};
  for (const std::uint32_t slot : live_slots()) {
    if (slot != but_for) ++sharers[slot % kSocketGroup];
  }
  return sharers;
}

// A socket with few sharers; in its column, a row that depends on the pid, so that the QPNs of a
// process that died are not given out again at once. Among equal columns the pid decides too, so
// that processes which start at the same moment choose different ones.
std::optional<Membership> claim_slot(const Sharers& sharers) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  const std::uint32_t row = pid / kSocketGroup % kRows;
  std::array<std::uint32_t, kSocketGroup> columns{};
  for (std::uint32_t i = 0; i < kSocketGroup; ++i) columns[i] = (pid + i) % kSocketGroup;
  std::ranges::stable_sort(columns, {}, [&](std::uint32_t c) { return sharers[c]; });
  for (const std::uint32_t column : columns) {
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

std::string name_of_ports() { return prefix() + "ports"; }

std::vector<std::uint32_t> live_slots() {
  std::vector<std::uint32_t> slots;
  const auto names = abstract_names(prefix());
  if (!names) {  // no /proc here: who answers is alive
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

std::optional<Membership> join_host() {
  std::optional<Membership> joined;
  // Two that join at the same moment may choose the same column. At least one of them sees the
  // other when it looks again, and moves; the other may have looked before, and does not look once
  // more.
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Sharers sharers = count_sharers(joined ? joined->slot : 0);
    if (joined) {
      const bool shares = sharers[joined->slot % kSocketGroup] > 0;
      const bool choice = std::ranges::find(sharers, 0U) != sharers.end();
      if (!shares || !choice) break;
    }
    joined = claim_slot(sharers);
    if (!joined) break;
  }
  return joined;
}

}  // namespace nerve::host
