#include "host/diagnostics/records.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

namespace nerve::host {
namespace {

// Another process writes while we read: number by number, so that none is torn. Where that is this
// process itself, its engines write without atomics, which would cost them something.
template <class Values>
__attribute__((no_sanitize("thread"))) Values copy_of(const Values& shared) {
  static_assert(sizeof(Values) % sizeof(std::uint64_t) == 0);
  Values values;
  const auto* const from = reinterpret_cast<const std::uint64_t*>(&shared);
  std::array<std::uint64_t, sizeof(Values) / sizeof(std::uint64_t)> words{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
  }
  std::memcpy(static_cast<void*>(&values), words.data(), sizeof values);
  return values;
}

template <std::size_t N>
std::string text_of(const std::array<char, N>& name) {
  std::string text{name.data(), ::strnlen(name.data(), N)};
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

void add_device(std::vector<DeviceRecord>& to, std::string_view name, const DeviceCounters& more) {
  const auto same = std::ranges::find(to, name, &DeviceRecord::name);
  if (same != to.end()) {
    same->counters += more;
  } else {
    to.push_back({.name = std::string{name}, .counters = more});
  }
}

void add_devices(std::vector<DeviceRecord>& to, std::span<const DeviceEntry> entries) {
  for (const DeviceEntry& entry : entries) {
    const std::string name = text_of(entry.name);
    if (name.empty()) break;  // they are taken in order
    add_device(to, name, copy_of(entry.counters));
  }
}

void add_all(const StatisticsTable& table, const Alive& alive, Records& to) {
  add_devices(to.ended, table.ended);
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const auto pid = static_cast<pid_t>(__atomic_load_n(&table.pids[slot], __ATOMIC_ACQUIRE));
    if (pid == 0) continue;
    const SlotEntry& entry = table.slots[slot];
    const std::uint64_t started = entry.started;
    auto same = std::ranges::find_if(to.processes, [&](const ProcessRecord& one) {
      return one.pid == pid && one.started == started;
    });
    if (same == to.processes.end()) {
      to.processes.push_back({.pid = pid,
                              .started = started,
                              .program = text_of(entry.program),
                              .run = static_cast<pid_t>(entry.run),
                              .alive = alive(pid, started),
                              .devices = {}});
      same = to.processes.end() - 1;
    }
    same->summarised = same->summarised || entry.summarised != 0;
    add_devices(same->devices, entry.devices);
  }
}

}  // namespace

DeviceCounters ProcessRecord::total() const {
  DeviceCounters sum;
  for (const DeviceRecord& device : devices) sum += device.counters;
  return sum;
}

std::vector<DeviceRecord> Records::by_device() const {
  std::vector<DeviceRecord> sums = ended;
  for (const ProcessRecord& process : processes) {
    for (const DeviceRecord& device : process.devices) {
      add_device(sums, device.name, device.counters);
    }
  }
  std::ranges::sort(sums, {}, &DeviceRecord::name);
  return sums;
}

void add_records(const StatisticsTable& table, const Alive& alive, Records& to) {
  // An entry that is moved to the ended ones is in neither, or in both, for some microseconds. A
  // process that was killed in between leaves the sequence odd, and is not waited for.
  constexpr int kTries = 20;
  for (int tries = 0;; ++tries) {
    const std::uint64_t before = __atomic_load_n(&table.sequence, __ATOMIC_ACQUIRE);
    Records tried = to;
    add_all(table, alive, tried);
    __sync_synchronize();
    const std::uint64_t after = __atomic_load_n(&table.sequence, __ATOMIC_RELAXED);
    if ((before == after && before % 2 == 0) || tries == kTries) {
      to = std::move(tried);
      break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  std::ranges::sort(to.processes, {}, &ProcessRecord::pid);
}

Records RecordReader::read() {
  using std::chrono::milliseconds;
  const auto now =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
  if (tables_.empty() || now - asked_at_ >= 1000) {
    for (auto& table : Statistics::find_others(tables_)) tables_.push_back(std::move(table));
    asked_at_ = now;
  }
  Records records;
  const Alive alive = [](pid_t pid, std::uint64_t started) {
    return started != 0 && start_of(pid) == started;
  };
  for (const auto& table : tables_) add_records(table->read(), alive, records);
  return records;
}

}  // namespace nerve::host
