// Random programs of two processes that communicate through the library, compared with a model.
// docs/bad-days.md describes them; tests/bad_days/worlds.py starts this program.
//
//   verbs_worlds first=N last=N [jobs=N] [mistake=NAME] [patience_ms=N]
//
// Ten consecutive worlds share two processes and their settings, which depend on the seed of the
// first. A run that starts within such a group starts with its first world.
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bad_days/worlds/noise.h"
#include "tests/bad_days/worlds/side.h"

namespace worlds {
namespace {

struct Options {
  std::uint64_t first{1};
  std::uint64_t last{kGroup};
  std::uint64_t jobs{2};
  std::uint64_t patience_ms{20'000};
  Mistake mistake{};
};

// Counted by all processes.
struct Totals {
  std::atomic<std::uint64_t> worlds;
  std::atomic<std::uint64_t> completions;
  std::atomic<std::uint64_t> faulty;
  std::atomic<std::uint64_t> struck;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word{argv[i]};
    const std::size_t sign = word.find('=');
    if (sign == std::string_view::npos) return false;
    const std::string_view name = word.substr(0, sign);
    const char* const value = argv[i] + sign + 1;
    if (name == "mistake") {
      const auto mistake = mistake_by_name(value);
      if (!mistake) return false;
      options.mistake = *mistake;
      continue;
    }
    char* end{};
    const std::uint64_t number = std::strtoull(value, &end, 10);
    if (end == value || *end != '\0' || number == 0) return false;
    if (name == "first") {
      options.first = number;
    } else if (name == "last") {
      options.last = number;
    } else if (name == "jobs") {
      options.jobs = number;
    } else if (name == "patience_ms") {
      options.patience_ms = number;
    } else {
      return false;
    }
  }
  return options.first <= options.last;
}

bool over_udp() {
  const char* const transport = std::getenv("NERVE_TRANSPORT");
  return transport != nullptr && std::string_view{transport} == "udp";
}

ibv_context* open_device() {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  must(list != nullptr && count > 0, "ibv_get_device_list");
  ibv_context* const context = ibv_open_device(list[0]);
  must(context != nullptr, "ibv_open_device");
  ibv_free_device_list(list);
  must(::fcntl(context->async_fd, F_SETFL, O_NONBLOCK) == 0, "fcntl");
  return context;
}

// One of the two processes of a group.
[[noreturn]] void run_side(const Options& options, std::uint64_t first, std::uint64_t last,
                           std::size_t side, int fd, Totals& totals) {
  constexpr unsigned kHangs = 120;  // seconds in calls that do not return
  const Settings settings = draw_settings(first, over_udp());
  apply(settings, first, side);
  set_world(first, side, settings.describe());
  Control control{fd};
  ibv_context* const context = open_device();
  std::optional<Noise> noise;
  if (settings.noise) noise.emplace(context, first + side);
  // Only one side makes mistakes, and not at once.
  Plant plant{.mistake = side == 1 ? options.mistake : Mistake::kNone, .countdown = 20};
  if (options.mistake == Mistake::kByte || options.mistake == Mistake::kStale) plant.countdown = 1;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    ::alarm(kHangs);
    set_world(seed, side, settings.describe());
    const World world = draw_world(seed, settings);
    Side one{world, side, context, control, plant, options.patience_ms * 1000};
    one.live();
    totals.completions += one.completions();
    if (side != 0) continue;
    ++totals.worlds;
    if (!settings.faults.empty()) ++totals.faulty;
    for (const QpPlan& qp : world.qps) totals.struck += qp.blow != Blow::kNone ? 1U : 0U;
  }
  noise.reset();
  must((errno = ibv_close_device(context)) == 0, "ibv_close_device");
  std::exit(kRight);
}

struct Group {
  std::uint64_t first{};
  std::array<pid_t, 2> processes{};
};

Group start(const Options& options, std::uint64_t first, Totals& totals) {
  std::array<int, 2> ends{};
  must(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0, "socketpair");
  Group group{.first = first};
  const std::uint64_t last = std::min(first + kGroup - 1, options.last);
  std::fflush(stdout);
  for (std::size_t side = 0; side < 2; ++side) {
    group.processes[side] = ::fork();
    must(group.processes[side] >= 0, "fork");
    if (group.processes[side] != 0) continue;
    ::close(ends[1 - side]);
    run_side(options, first, last, side, ends[side], totals);
  }
  for (const int end : ends) ::close(end);
  return group;
}

// True if both processes of some finished group were right.
bool reap(std::vector<Group>& groups) {
  int status = 0;
  const pid_t pid = ::wait(&status);
  for (Group& group : groups) {
    for (pid_t& process : group.processes) {
      if (process == pid) process = 0;
    }
  }
  std::erase_if(groups, [](const Group& g) { return g.processes == std::array<pid_t, 2>{}; });
  if (WIFSIGNALED(status)) std::printf("a process ended by signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == kRight;
}

int run(const Options& options) {
  void* const shared =
      ::mmap(nullptr, sizeof(Totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  must(shared != MAP_FAILED, "mmap");
  Totals& totals = *new (shared) Totals{};
  std::vector<Group> groups;
  bool right = true;
  for (std::uint64_t next = first_of_group(options.first); right || !groups.empty();) {
    if (right && next <= options.last && groups.size() < options.jobs) {
      groups.push_back(start(options, next, totals));
      next += kGroup;
      continue;
    }
    if (groups.empty()) break;
    right &= reap(groups);
  }
  if (!right) return kWrong;
  std::printf("%llu worlds, %llu with faults, %llu QPs ended early, %llu completions\n",
              static_cast<unsigned long long>(totals.worlds),
              static_cast<unsigned long long>(totals.faulty),
              static_cast<unsigned long long>(totals.struck),
              static_cast<unsigned long long>(totals.completions));
  return kRight;
}

}  // namespace
}  // namespace worlds

int main(int argc, char** argv) {
  worlds::Options options;
  if (!worlds::parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: verbs_worlds first=N last=N [jobs=N] [mistake=NAME] [patience_ms=N]\n");
    return worlds::kUsage;
  }
  return worlds::run(options);
}
