#include "cli/nerve_program.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/run_plan.h"
#include "cli/this_program.h"
#include "cli/usage_error.h"
#include "cli/version.h"

namespace nerve::cli {
namespace {

// True if the command exists; otherwise prints an error.
bool knows(const CLI::App& program, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands(nullptr)) {
    names.push_back(command->get_name());
  }
  if (std::ranges::find(names, word) != names.end()) return true;
  const std::string_view nearest = nearest_name(word, names);
  fmt::print(stderr, "nerve: unknown command `{}`; {}\n", word,
             nearest.empty() ? fmt::format("`{} --help` lists the commands", command_name())
                             : fmt::format("did you mean `{}`?", nearest));
  return false;
}

// Runs nerve-sim in place of this program.
int start_simulator(char** argv) {
  const std::filesystem::path program = simulator_of(this_program());
  ::setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);  // large pages: a quarter faster
  ::execv(program.c_str(), argv);
  fmt::print(stderr, "nerve: cannot run {}: {}; {}\n", program.string(), std::strerror(errno),
             how_to_restore());
  return kExitFailed;
}

}  // namespace

int run_nerve(int argc, char** argv) {
  CLI::App program{"Nerve: RDMA for machines that have none", "nerve"};
  expect_command(program);
  int exit_code = kExitOk;
  add_demo(program, exit_code);
  add_run(program, exit_code);
  add_trace(program, exit_code);
  add_devices(program, exit_code);
  add_stat(program, exit_code);
  add_top(program, exit_code);
  add_metrics(program, exit_code);
  add_web(program, exit_code);
  add_doctor(program, exit_code);
  add_decode(program, exit_code);
  add_key(program, exit_code);
  add_controller(program, exit_code);
  program.add_subcommand("sim", kSimSummary);
  program.add_subcommand("sweep", kSweepSummary);
  program.add_subcommand("plan", kPlanSummary);
  program.add_subcommand("learn", kLearnSummary);
  const std::string_view word = argc > 1 ? argv[1] : "";
  constexpr std::string_view kOfSimulator[] = {"sim", "sweep", "plan", "learn"};
  if (std::ranges::find(kOfSimulator, word) != std::end(kOfSimulator)) return start_simulator(argv);
  if (word == "--version") return print_version();
  program.add_flag_callback(
      "--version", [] {}, "version, commit, compiler and features");
  if (argc > 1 && argv[1][0] != '-' && !knows(program, argv[1])) return kExitUsage;
  try {
    std::vector<std::string> arguments = mark_command({argv + 1, argv + argc});
    std::ranges::reverse(arguments);  // CLI11 takes them in reverse order
    program.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return exit_code;
}

}  // namespace nerve::cli
