// `nerve`: the one command. Sub-commands live in files of their own.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/run_plan.h"

namespace {

// Whether there is such a command; told when there is not.
bool knows(const CLI::App& program, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands(nullptr)) {
    names.push_back(command->get_name());
  }
  if (std::ranges::find(names, word) != names.end()) return true;
  const std::string_view nearest = nerve::nearest_name(word, names);
  fmt::print(stderr, "nerve: there is no command `{}`; {}\n", word,
             nearest.empty() ? "`./nerve --help` lists those there are"
                             : fmt::format("did you mean `{}`?", nearest));
  return false;
}

// What is wrong with the arguments, said as everything else is: by whom, and where help is.
std::string usage_error(const CLI::App* program, const CLI::Error& error) {
  std::string who = program->get_name();
  for (auto used = program->get_subcommands(); !used.empty();
       used = used.front()->get_subcommands()) {
    who += " " + used.front()->get_name();
  }
  return fmt::format("{}: {}; `{} --help` explains\n", who, error.what(), who);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace nerve::cli;
  CLI::App program{"Nerve: RDMA for machines that have none", "nerve"};
  program.require_subcommand(1);
  program.failure_message(usage_error);
  program.footer("`nerve COMMAND --help` explains a command.");
  int exit_code = kExitOk;
  add_demo(program, exit_code);
  add_run(program, exit_code);
  add_devices(program, exit_code);
  add_stat(program, exit_code);
  add_doctor(program, exit_code);
  add_decode(program, exit_code);
  add_sim(program, exit_code);
  add_sweep(program, exit_code);
  if (argc > 1 && argv[1][0] != '-' && !knows(program, argv[1])) return kExitUsage;
  try {
    std::vector<std::string> arguments = mark_command({argv + 1, argv + argc});
    std::ranges::reverse(arguments);  // CLI11 takes them from the back
    program.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return exit_code;
}
