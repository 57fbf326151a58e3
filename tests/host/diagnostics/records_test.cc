// Goal: a table of counters, as it lies in memory, becomes processes and devices; whatever is in
// it. Method: tables that are values.
#include "host/diagnostics/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "host/diagnostics/counter_names.h"
#include "host/diagnostics/port_counters.h"

namespace nerve::host {
namespace {

void put(StatisticsTable& table, std::uint32_t slot, std::uint64_t pid, const char* device,
         std::uint64_t bytes) {
  table.pids[slot] = pid;
  SlotEntry& entry = table.slots[slot];
  entry.started = 1;
  std::ranges::copy(std::string_view{"prog\nram"}, entry.program.begin());
  find_entry(entry.devices, device)->counters.engine.bytes_sent = bytes;
}

Records read(const StatisticsTable& table) {
  Records records;
  add_records(
      table, [](pid_t pid, std::uint64_t) { return pid == 7; }, records);
  return records;
}

}  // namespace

TEST(Records, ShardsOfAProcessAreOne) {
  const auto table = std::make_unique<StatisticsTable>();
  put(*table, 3, 7, "nerve0", 10);
  put(*table, 500, 7, "nerve0", 5);
  put(*table, 4, 8, "nerve1", 1);
  find_entry(table->ended, "nerve0")->counters.engine.bytes_sent = 100;
  const Records records = read(*table);
  ASSERT_EQ(records.processes.size(), 2U);
  EXPECT_EQ(records.processes[0].total().engine.bytes_sent, 15U);
  EXPECT_EQ(records.processes[0].program, "prog?ram");
  EXPECT_TRUE(records.processes[0].alive);
  EXPECT_FALSE(records.processes[1].alive);
  const std::vector<DeviceRecord> devices = records.by_device();
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].name, "nerve0");
  EXPECT_EQ(devices[0].counters.engine.bytes_sent, 115U);
  EXPECT_EQ(devices[1].counters.engine.bytes_sent, 1U);
}

// A process was killed while it moved an entry.
TEST(Records, AnOddSequenceIsNotWaitedForForEver) {
  const auto table = std::make_unique<StatisticsTable>();
  table->sequence = 1;
  put(*table, 3, 7, "nerve0", 10);
  EXPECT_EQ(read(*table).processes.size(), 1U);
}

TEST(Records, GarbageIsReadAsText) {
  const auto table = std::make_unique<StatisticsTable>();
  std::ranges::fill(table->pids, ~std::uint64_t{0});
  for (SlotEntry& entry : table->slots) {
    entry.program.fill('\xff');
    for (DeviceEntry& device : entry.devices) device.name.fill('\xff');
  }
  const Records records = read(*table);
  ASSERT_EQ(records.processes.size(), 1U);
  EXPECT_EQ(records.processes[0].program, std::string(24, '?'));
}

TEST(CounterNames, AreDifferentAndHaveHelp) {
  std::vector<std::string_view> names;
  for (const CounterName& counter : counter_names()) {
    EXPECT_EQ(std::ranges::count(names, counter.name), 0) << counter.name;
    EXPECT_TRUE(counter.help.ends_with('.')) << counter.name;
    names.push_back(counter.name);
  }
}

TEST(PortCounters, CountWhatTheDirectPathMoves) {
  DeviceCounters counters;
  counters.engine.bytes_sent = 1000;
  counters.direct.bytes_written = 24;
  counters.direct.bytes_read = 8;
  for (const PortCounter& counter : port_counters()) {
    if (counter.file == "port_xmit_data") {
      EXPECT_EQ(counter.value(counters), 1024U);
      EXPECT_EQ(counter.unit, 4U);
    }
    if (counter.file == "port_rcv_data") {
      EXPECT_EQ(counter.value(counters), 8U);
    }
    EXPECT_TRUE(counter.metric.ends_with("_total")) << counter.metric;
  }
}

}  // namespace nerve::host
