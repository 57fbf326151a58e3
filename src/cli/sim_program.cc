#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/nerve_program.h"
#include "cli/usage_error.h"

namespace nerve::cli {

int run_nerve_sim(int argc, char** argv) {
  CLI::App program{"Nerve: a data centre in virtual time", "nerve"};
  expect_command(program);
  int exit_code = kExitOk;
  add_sim(program, exit_code);
  add_sweep(program, exit_code);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return exit_code;
}

}  // namespace nerve::cli
