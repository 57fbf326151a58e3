#include "ai/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>

#include "ai/message.h"

namespace nerve::ai {

Machine Machine::here() {
  Machine made;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> made.id;
  if (made.id.empty()) {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0) made.id = name.data();
  }
  cpu_set_t allowed;
  made.cpus = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0
                  ? CPU_COUNT(&allowed)
                  : static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return made;
}

std::string Machine::as_text() const {
  MessageWriter writer;
  return writer.text(id).number(static_cast<std::uint64_t>(cpus)).as_text();
}

Result<Machine, Error> Machine::read(const std::string& text, int rank) {
  MessageReader reader{text};
  Machine made;
  made.id = reader.text();
  made.cpus = static_cast<int>(std::min<std::uint64_t>(reader.number(), 1U << 20));
  if (reader.complete()) return made;
  return failure(Error::Kind::kProtocol,
                 "rank " + std::to_string(rank) +
                     " did not describe its machine; install the same release on all hosts",
                 rank);
}

bool more_ranks_than_cpus(const std::vector<Machine>& machines) {
  struct Load {
    int ranks{};
    int cpus{};
  };
  std::map<std::string, Load> loads;
  for (const Machine& machine : machines) {
    Load& load = loads[machine.id];
    ++load.ranks;
    load.cpus = std::max(load.cpus, machine.cpus);
  }
  return std::ranges::any_of(loads,
                             [](const auto& load) { return load.second.ranks > load.second.cpus; });
}

}  // namespace nerve::ai
