// Formats an argument error with the command's name and a pointer to its help.
#pragma once

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"

namespace nerve::cli {

// "unknown option `--pcapp`; did you mean `--pcap`?" for the first of these words that looks like
// an option; empty if none does.
inline std::string unknown_option(const CLI::App& command, const std::vector<std::string>& words) {
  const auto word = std::ranges::find_if(
      words, [](const std::string& one) { return one.starts_with('-') && one != "--"; });
  if (word == words.end()) return {};
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string_view nearest = nearest_name(*word, names);
  return fmt::format("unknown option `{}`", *word) +
         (nearest.empty() ? "" : fmt::format("; did you mean `{}`?", nearest));
}

inline std::string usage_error(const CLI::App* program, const CLI::Error& error) {
  std::string who = program->get_name();
  const CLI::App* command = program;
  for (auto used = program->get_subcommands(); !used.empty(); used = command->get_subcommands()) {
    command = used.front();
    who += " " + command->get_name();
  }
  std::string what;
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    what = unknown_option(*command, program->remaining(true));
  }
  if (what.empty()) what = error.what();
  return fmt::format("{}: {}; see `{} --help`\n", who, what, who);
}

// Common setup of both programs: exactly one sub-command, and errors as above.
inline void expect_command(CLI::App& program) {
  program.require_subcommand(1);
  program.failure_message(usage_error);
  program.footer("`nerve COMMAND --help` describes a command.");
}

}  // namespace nerve::cli
