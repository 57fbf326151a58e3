// What is wrong with the arguments, with the command that they were for and where its help is.
#pragma once

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <string>

namespace nerve::cli {

inline std::string usage_error(const CLI::App* program, const CLI::Error& error) {
  std::string who = program->get_name();
  for (auto used = program->get_subcommands(); !used.empty();
       used = used.front()->get_subcommands()) {
    who += " " + used.front()->get_name();
  }
  return fmt::format("{}: {}; `{} --help` explains\n", who, error.what(), who);
}

// What both programs of the command line do with their arguments: one sub-command, and its
// mistakes.
inline void expect_command(CLI::App& program) {
  program.require_subcommand(1);
  program.failure_message(usage_error);
  program.footer("`nerve COMMAND --help` explains a command.");
}

}  // namespace nerve::cli
