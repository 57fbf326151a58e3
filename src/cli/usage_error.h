// Formats an argument error with the command's name and a pointer to its help.
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
  return fmt::format("{}: {}; see `{} --help`\n", who, error.what(), who);
}

// Common setup of both programs: exactly one sub-command, and errors as above.
inline void expect_command(CLI::App& program) {
  program.require_subcommand(1);
  program.failure_message(usage_error);
  program.footer("`nerve COMMAND --help` describes a command.");
}

}  // namespace nerve::cli
