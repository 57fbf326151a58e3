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

}  // namespace nerve::cli
