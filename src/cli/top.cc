// `nerve top`: a terminal view of all programs that updates.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/sample.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/top_view.h"

namespace nerve::cli {
namespace {

constexpr const char* kTopFooter = R"(
A line for each program: its QPs and the processes that they are connected to, what it sends and
receives now, packets resent, NAKs in both directions and timeouts since it started, the rate that
congestion control leaves to its slowest QP ("-": it slows none), and the paths that its payload
took: shm, udp, direct. Tab shows the QPs instead, 64 of each program at most.

Keys: q leaves; tab changes between programs and QPs; s r p n t k c sort by sent, received, pid,
program, resent, naks, qps; R reverses; / types a filter (program, pid, device, path, peer); up and
down scroll; h helps.

Without a terminal it prints one frame and ends.

Examples:
    nerve top
    nerve top --interval 0.5 --sort resent
    nerve top --qps --filter ib_write)";

struct TopOptions {
  double interval{1};
  std::string sort{"sent"};
  std::string filter;
  bool qps{};
};

// Rates need two looks.
constexpr std::chrono::milliseconds kFirstInterval{250};

int print_one_frame(const TopState& state) {
  host::RecordReader records;
  const Sample before = take_sample(records);
  std::this_thread::sleep_for(kFirstInterval);
  const Sample now = take_sample(records);
  constexpr TopSize kAll{.columns = 200, .rows = 1U << 20};
  fmt::print("{}\n", top_frame(now, &before, kAll, state));
  return kExitOk;
}

// Stops as Ctrl-Z asks for, with the terminal as it was before; returns when the shell goes on.
void stop_here(Terminal& terminal) {
  terminal.leave();
  (void)::raise(SIGSTOP);
  terminal.enter();
}

int watch_terminal(const TopOptions& options, TopState state) {
  using Clock = std::chrono::steady_clock;
  const Signals signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
  host::RecordReader records;
  Sample before = take_sample(records);
  Sample now = before;
  Terminal terminal;
  auto next = Clock::now() + kFirstInterval;
  for (;;) {
    terminal.draw(top_frame(now, &before, Terminal::size(), state));
    std::array<pollfd, 2> waiting{{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                   {.fd = signals.descriptor(), .events = POLLIN, .revents = 0}}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    (void)::poll(waiting.data(), waiting.size(),
                 static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    while (const auto signal = signals.take()) {
      if (signal->number == SIGTSTP) {
        stop_here(terminal);
      } else if (signal->number != SIGWINCH) {
        return signal->number == SIGINT ? kExitOk : 128 + signal->number;
      }
    }
    bool ended = false;
    for (const char key : Terminal::keys(ended)) {
      if (!press(state, key)) return kExitOk;
    }
    if (ended) return kExitOk;
    if (Clock::now() < next) continue;
    before = std::move(now);
    now = take_sample(records);
    next = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>{options.interval});
  }
}

int top(const TopOptions& options) {
  const auto sort = sort_named(options.sort);
  if (!sort) {
    fmt::print(
        stderr,
        "nerve top: --sort '{}': sort by sent, received, pid, program, resent, naks or qps\n",
        options.sort);
    return kExitUsage;
  }
  TopState state;
  state.sort = *sort;
  state.filter = options.filter;
  if (options.qps) state.view = TopView::kQps;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1 && ::isatty(STDIN_FILENO) == 1;
  return terminal ? watch_terminal(options, state) : print_one_frame(state);
}

}  // namespace

void add_top(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command = program.add_subcommand("top", "A terminal view of all programs that updates");
  command->add_option("--interval", options->interval, "look again every SECONDS [1]")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0));
  command->add_option("--sort", options->sort, "sort by this column [sent]")->type_name("COLUMN");
  command->add_option("--filter", options->filter, "only what contains TEXT")->type_name("TEXT");
  command->add_flag("--qps", options->qps, "show QPs at first");
  command->footer(kTopFooter);
  command->callback([options, &exit_code] { exit_code = top(*options); });
}

}  // namespace nerve::cli
