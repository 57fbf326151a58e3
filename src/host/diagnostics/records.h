// What the tables of counters say (peers/statistics_layout.h), as values: each process that a table
// still has an entry for, living or dead, and the sum of those before them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/peers/statistics.h"

namespace nerve::host {

struct DeviceRecord {
  std::string name;
  DeviceCounters counters;
};

struct ProcessRecord {
  pid_t pid{};
  std::uint64_t started{};
  std::string program;  // printable
  pid_t run{};          // the `nerve run` that started it; zero: none
  bool alive{};
  bool summarised{};  // it has printed its summary
  std::vector<DeviceRecord> devices;

  [[nodiscard]] DeviceCounters total() const;
};

struct Records {
  std::vector<ProcessRecord> processes;  // by pid; the shards of a process are one
  std::vector<DeviceRecord> ended;       // of processes that have no entry any more

  // What all processes together have moved, by device: never less than at the last look, while one
  // process that has the table lives.
  [[nodiscard]] std::vector<DeviceRecord> by_device() const;
};

// Adds the contents of one table. `alive` returns whether the process that began then still runs.
using Alive = std::function<bool(pid_t, std::uint64_t started)>;
void add_records(const StatisticsTable& table, const Alive& alive, Records& to);

// Remembers the tables that it has seen, so that what it reads does not shrink while it lives.
class RecordReader {
 public:
  // Asks other processes for tables once a second at most.
  [[nodiscard]] Records read();
  // One that this process has already: it cannot ask itself.
  void add(std::shared_ptr<Statistics> table) { tables_.push_back(std::move(table)); }

 private:
  std::vector<std::shared_ptr<Statistics>> tables_;
  std::int64_t asked_at_{};  // milliseconds
};

}  // namespace nerve::host
