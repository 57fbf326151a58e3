// `nerve`: the one command. Sub-commands live in files of their own.
#include <CLI/CLI.hpp>

#include "cli/commands.h"

int main(int argc, char** argv) {
  using namespace nerve::cli;
  CLI::App program{"Nerve: RDMA for machines that have none", "nerve"};
  program.require_subcommand(1);
  program.footer("`nerve COMMAND --help` explains a command.");
  int exit_code = kExitOk;
  add_decode(program, exit_code);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return exit_code;
}
