#include "host/peers/statistics.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "host/diagnostics/report.h"
#include "host/peers/ask_all.h"
#include "host/peers/membership.h"

namespace nerve::host {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWaitForTables{300};  // with processes that are asked
constexpr milliseconds kWaitForNewTable{100};
constexpr milliseconds kWaitForMaker{1000};
constexpr milliseconds kBetweenTries{2};

template <std::size_t N>
void put_name(std::array<char, N>& where, std::string_view name) {
  where = {};
  std::ranges::copy(name.substr(0, N - 1), where.begin());
}

std::uint64_t number_in(const char* variable) {
  const char* const text = ::secure_getenv(variable);
  if (text == nullptr) return 0;
  std::uint64_t number = 0;
  (void)std::from_chars(text, text + std::strlen(text), number);
  return number;
}

std::uint64_t inode_of(int descriptor) {
  struct stat about {};
  return ::fstat(descriptor, &about) == 0 ? about.st_ino : 0;
}

// Keepers first: they have nothing else to do.
std::vector<std::string> all_names() {
  std::vector<std::string> names;
  const std::string prefix = keeper_prefix();
  const std::string own = std::to_string(::getpid());
  for (const std::string& rest : abstract_names(prefix).value_or(std::vector<std::string>{})) {
    if (rest != own) names.push_back(prefix + rest);
  }
  for (const std::uint32_t slot : live_slots()) names.push_back(name_of_slot(slot));
  return names;
}

}  // namespace

std::string keeper_prefix() { return name_of("keeper/"); }

std::uint64_t start_of(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
  std::string line;
  std::getline(file, line);
  // The second field is the program's name in brackets, which may contain anything.
  std::size_t at = line.rfind(')');
  if (at == std::string::npos) return 0;
  const char state = at + 2 < line.size() ? line[at + 2] : 'X';
  if (state == 'Z' || state == 'X') return 0;  // dead, and its parent has not asked yet
  constexpr int kFieldsBetween = 20;           // it is the 22nd field
  for (int i = 0; i < kFieldsBetween; ++i) {
    at = line.find(' ', at + 1);
    if (at == std::string::npos) return 0;
  }
  std::uint64_t ticks = 0;
  (void)std::from_chars(line.data() + at + 1, line.data() + line.size(), ticks);
  return ticks;
}

DeviceEntry* find_entry(std::span<DeviceEntry> entries, std::string_view name) {
  for (DeviceEntry& entry : entries) {
    const std::string_view has{entry.name.data(),
                               ::strnlen(entry.name.data(), entry.name.size() - 1)};
    if (has == name.substr(0, entry.name.size() - 1)) return &entry;
    if (!has.empty()) continue;
    put_name(entry.name, name);
    return &entry;
  }
  return nullptr;
}

StatisticsTable& Statistics::table() const {
  return *reinterpret_cast<StatisticsTable*>(mapping_.bytes().data());
}

std::unique_ptr<Statistics> Statistics::from(Descriptor descriptor) {
  constexpr std::size_t kSize = sizeof(StatisticsTable);
  auto mapping = map_shared_memory(descriptor.get(), kSize, kSize, Others::kWrite);
  if (!mapping) return nullptr;
  const std::uint64_t inode = inode_of(descriptor.get());
  std::unique_ptr<Statistics> found{
      new Statistics{std::move(descriptor), *std::move(mapping), inode}};
  const StatisticsTable& table = found->table();
  return table.magic == StatisticsTable::kMagic && table.size == kSize ? std::move(found) : nullptr;
}

std::unique_ptr<Statistics> Statistics::ask_for(milliseconds patience) {
  std::unique_ptr<Statistics> found;
  (void)ask_names(all_names(), {.kind = RequestKind::kStatistics}, patience, [&](Message& answer) {
    if (answer.descriptors.size() == 1) found = from(std::move(answer.descriptors[0]));
    return found != nullptr;
  });
  return found;
}

std::unique_ptr<Statistics> Statistics::open() {
  const auto give_up = std::chrono::steady_clock::now() + kWaitForMaker;
  Turn making;
  for (;;) {
    if (auto found = ask_for(kWaitForTables)) return found;
    making = Turn::take(TurnTo::kMakeStatistics);
    // Another process makes it, and will soon hand it on. One that never does is not waited for.
    if (making || std::chrono::steady_clock::now() >= give_up) break;
    std::this_thread::sleep_for(kBetweenTries);
  }
  // Another process may have made it since; that one answers at once.
  if (auto found = ask_for(kWaitForNewTable)) return found;
  auto memory = make_shared_memory(sizeof(StatisticsTable), Others::kWrite);
  if (!memory) return nullptr;
  const std::uint64_t inode = inode_of(memory->descriptor.get());
  std::unique_ptr<Statistics> made{
      new Statistics{std::move(memory->descriptor), std::move(memory->mapping), inode}};
  made->table().magic = StatisticsTable::kMagic;
  made->table().size = sizeof(StatisticsTable);
  made->making_ = std::move(making);
  return made;
}

std::vector<std::unique_ptr<Statistics>> Statistics::find_others(
    const std::vector<std::shared_ptr<Statistics>>& known) {
  std::vector<std::unique_ptr<Statistics>> others;
  (void)ask_names(all_names(), {.kind = RequestKind::kStatistics}, kWaitForTables,
                  [&](Message& answer) {
                    if (answer.descriptors.size() != 1) return false;
                    const std::uint64_t inode = inode_of(answer.descriptors[0].get());
                    const auto same = [&](const auto& one) { return one->inode_ == inode; };
                    if (std::ranges::any_of(known, same) || std::ranges::any_of(others, same))
                      return false;
                    if (auto found = from(std::move(answer.descriptors[0]))) {
                      found->descriptor_ = {};  // the mapping is enough to read
                      others.push_back(std::move(found));
                    }
                    return false;
                  });
  return others;
}

void Statistics::add_to_ended(const SlotEntry& entry) {
  for (const DeviceEntry& device : entry.devices) {
    if (device.name[0] == '\0') continue;
    const std::string_view name{device.name.data(),
                                ::strnlen(device.name.data(), device.name.size() - 1)};
    if (DeviceEntry* const sum = find_entry(table().ended, name)) sum->counters += device.counters;
  }
}

SlotEntry& Statistics::enter(std::uint32_t slot) {
  StatisticsTable& all = table();
  SlotEntry& entry = all.slots[slot];
  if (all.pids[slot] != 0) {
    // One process at a time; if it does not come to its turn, it goes on: a sum may be wrong then.
    Turn turn = making_ ? Turn{} : Turn::take(TurnTo::kMakeStatistics);
    for (int tries = 0; !making_ && !turn && tries < 50; ++tries) {
      std::this_thread::sleep_for(kBetweenTries);
      turn = Turn::take(TurnTo::kMakeStatistics);
    }
    const std::uint64_t before = __atomic_load_n(&all.sequence, __ATOMIC_RELAXED) & ~1ULL;
    __atomic_store_n(&all.sequence, before + 1, __ATOMIC_RELAXED);
    __sync_synchronize();  // GCC rejects atomic_thread_fence with -fsanitize=thread
    add_to_ended(entry);
    entry = {};
    __atomic_store_n(&all.sequence, before + 2, __ATOMIC_RELEASE);
  }
  entry.started = start_of(::getpid());
  entry.run = number_in(kRunVariable);
  put_name(entry.program, own_name());
  __atomic_store_n(&all.pids[slot], own_pid(), __ATOMIC_RELEASE);
  return entry;
}

void Statistics::leave() {
  // The engines still count, wherever the parent's counters are mapped.
  (void)::mmap(mapping_.bytes().data(), mapping_.bytes().size(), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

}  // namespace nerve::host
