// `nerve`: the one command. Sub-commands live in files of their own.
#include <CLI/CLI.hpp>

#include <algorithm>

#include "cli/commands.h"
#include "cli/run_plan.h"

int main(int argc, char** argv) {
  using namespace nerve::cli;
  CLI::App program{"Nerve: RDMA for machines that have none", "nerve"};
  program.require_subcommand(1);
  program.footer("`nerve COMMAND --help` explains a command.");
  int exit_code = kExitOk;
  add_demo(program, exit_code);
  add_run(program, exit_code);
  add_devices(program, exit_code);
  add_stat(program, exit_code);
  add_doctor(program, exit_code);
  add_decode(program, exit_code);
  try {
    std::vector<std::string> arguments = mark_command({argv + 1, argv + argc});
    std::ranges::reverse(arguments);  // CLI11 takes them from the back
    program.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return exit_code;
}
