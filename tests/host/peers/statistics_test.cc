// Goal: what a process counts in the shared table is there after it was killed, moves to the ended
// ones when its slot is taken again, and is not touched by the child of a fork.
#include "host/peers/statistics.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/diagnostics/records.h"
#include "host/peers/statistics_keeper.h"
#include "tests/host/process.h"

namespace nerve::host {
namespace {

constexpr std::uint32_t kCountedSlot = 700;

DeviceCounters& count(SlotEntry& entry, const char* device) {
  return find_entry(entry.devices, device)->counters;
}

// Of the device in one table, whatever else runs on this machine.
DeviceCounters total_in(const Statistics& table, const std::string& device) {
  Records records;
  add_records(
      table.read(), [](pid_t, std::uint64_t) { return true; }, records);
  for (const DeviceRecord& one : records.by_device()) {
    if (one.name == device) return one.counters;
  }
  return {};
}

}  // namespace

TEST(Statistics, AKilledProcessLeavesItsCounters) {
  const auto keeper = StatisticsKeeper::make();
  ASSERT_TRUE(keeper);
  Statistics& table = *keeper->statistics();
  const DeviceCounters before = total_in(table, "killed0");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    count(table.enter(kCountedSlot), "killed0").engine.bytes_sent += 1000;
    (void)::raise(SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(total_in(table, "killed0").engine.bytes_sent, before.engine.bytes_sent + 1000);
  Records records;
  const Alive alive = [](pid_t pid, std::uint64_t started) { return start_of(pid) == started; };
  add_records(table.read(), alive, records);
  const auto found = std::ranges::find(records.processes, child, &ProcessRecord::pid);
  ASSERT_NE(found, records.processes.end());
  EXPECT_FALSE(found->alive);
  EXPECT_FALSE(found->summarised);
}

TEST(Statistics, TheNextOwnerOfASlotKeepsTheSum) {
  const auto keeper = StatisticsKeeper::make();
  ASSERT_TRUE(keeper);
  Statistics& table = *keeper->statistics();
  const std::uint64_t before = total_in(table, "reused0").engine.bytes_sent;
  count(table.enter(kCountedSlot), "reused0").engine.bytes_sent += 5;
  SlotEntry& again = table.enter(kCountedSlot);
  EXPECT_EQ(again.devices[0].name[0], '\0');
  count(again, "reused0").engine.bytes_sent += 7;
  count(again, "reused0").direct.bytes_written += 1;
  EXPECT_EQ(total_in(table, "reused0").engine.bytes_sent, before + 12);
  EXPECT_EQ(table.read().sequence % 2, 0U);
}

TEST(Statistics, TheChildOfAForkCountsForItself) {
  const auto keeper = StatisticsKeeper::make();
  ASSERT_TRUE(keeper);
  Statistics& table = *keeper->statistics();
  SlotEntry& entry = table.enter(kCountedSlot);
  DeviceCounters& own = count(entry, "forked0");
  own.engine.bytes_sent = 3;
  const pid_t child = ::fork();
  if (child == 0) {
    table.leave();
    own.engine.bytes_sent += 100;
    ::_exit(own.engine.bytes_sent == 100 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(own.engine.bytes_sent, 3U);
}

TEST(Statistics, AnEntryHasAPlaceForEachDeviceWhileThereIsRoom) {
  std::array<DeviceEntry, 2> entries{};
  DeviceEntry* const a = find_entry(entries, "a");
  EXPECT_EQ(find_entry(entries, "b"), &entries[1]);
  EXPECT_EQ(find_entry(entries, "a"), a);
  EXPECT_EQ(find_entry(entries, "c"), nullptr);
  // A name that is too long is cut, and found by what is left of it.
  std::array<DeviceEntry, 1> one{};
  const std::string name(100, 'x');
  EXPECT_EQ(find_entry(one, name), one.data());
  EXPECT_EQ(find_entry(one, name), one.data());
  EXPECT_EQ(one[0].name.back(), '\0');
}

TEST(Statistics, AKeeperHandsTheTableOn) {
  auto keeper = StatisticsKeeper::make();
  ASSERT_TRUE(keeper);
  test::Process other{[](test::Line line) {
    const auto table = Statistics::open();
    line.say(table != nullptr ? table->enter(kCountedSlot).devices.size() : 0);
    if (table) count(table->enter(kCountedSlot), "handed0").engine.frames_sent = 9;
    line.say('d');
    (void)line.hear<char>();
  }};
  std::thread answering{[&] {
    for (int i = 0; i < 200; ++i) {
      keeper->answer();
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
  }};
  EXPECT_EQ(other.line().hear<std::size_t>(), SlotEntry::kDevices);
  (void)other.line().hear<char>();
  EXPECT_EQ(total_in(*keeper->statistics(), "handed0").engine.frames_sent, 9U);
  other.line().say('.');
  answering.join();
}

TEST(Statistics, KnowsWhenAProcessBegan) {
  EXPECT_GT(start_of(::getpid()), 0U);
  EXPECT_EQ(start_of(::getpid()), start_of(::getpid()));
  EXPECT_EQ(start_of(-1), 0U);
}

}  // namespace nerve::host
