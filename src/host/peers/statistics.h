// This process's part in the table of counters that the processes of a user share
// (statistics_layout.h), and how to get that table.
//
// The first process that opens a device makes it, and each process that has it hands it on; so it
// has no owner, and goes with the last of them. A keeper (statistics_keeper.h) is one that has no
// devices: it makes the table outlive the programs that it watches.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "host/peers/shared_memory.h"
#include "host/peers/statistics_layout.h"
#include "host/peers/turn.h"

namespace nerve::host {

class Statistics {
 public:
  // May wait for other processes to answer. Null, and errno, when there is no memory for it: then a
  // process counts for itself alone.
  [[nodiscard]] static std::unique_ptr<Statistics> open();

  // The entry of a slot that this process has just got. What was in it is added to the ended ones.
  [[nodiscard]] SlotEntry& enter(std::uint32_t slot);
  // The summary of this process is printed: no other process has to.
  void mark_summarised(std::uint32_t slot) { table().slots[slot].summarised = 1; }

  [[nodiscard]] const StatisticsTable& read() const { return table(); }

  // For a process that asks for the table.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // This process answers requests for the table from now on, so others may look for it: they make
  // no second one during the maker's turn.
  void handed_on() { making_ = Turn{}; }
  // This is the child of a fork: from here on it counts in memory of its own.
  void leave();

  // For readers: every table that a process of this user has, except those in `known`. They use no
  // descriptor and cannot be handed on.
  [[nodiscard]] static std::vector<std::unique_ptr<Statistics>> find_others(
      const std::vector<std::shared_ptr<Statistics>>& known);

 private:
  Statistics(Descriptor descriptor, Mapping mapping, std::uint64_t inode)
      : descriptor_{std::move(descriptor)}, mapping_{std::move(mapping)}, inode_{inode} {}
  [[nodiscard]] static std::unique_ptr<Statistics> from(Descriptor descriptor);
  [[nodiscard]] static std::unique_ptr<Statistics> ask_for(std::chrono::milliseconds patience);
  [[nodiscard]] StatisticsTable& table() const;
  void add_to_ended(const SlotEntry& entry);

  Descriptor descriptor_;
  Mapping mapping_;
  std::uint64_t inode_;
  Turn making_;
};

// The entry of a device, found by its name or taken; null when all are in use.
[[nodiscard]] DeviceEntry* find_entry(std::span<DeviceEntry> entries, std::string_view name);

// When a process began, in the kernel's ticks since it booted; zero when there is none.
[[nodiscard]] std::uint64_t start_of(pid_t pid);

// Names under which keepers answer begin with this.
[[nodiscard]] std::string keeper_prefix();

// The variable with the pid of the `nerve run` that started a program.
inline constexpr const char* kRunVariable = "NERVE_RUN";

}  // namespace nerve::host
