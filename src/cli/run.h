// Runs a program with our libibverbs: what `nerve run` and `nerve trace` have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nerve::cli {

struct RunOptions {
  std::vector<std::vector<std::string>> values;  // for each setting
  std::vector<std::string> command;
  std::map<std::string, std::string> variables;  // to set besides
  std::function<void()> at_end;                  // called when the program has ended
};

// Adds an option for each setting except those whose key begins with `except`.
void add_settings(CLI::App& command, RunOptions& options, std::string_view except = "-");

// Returns the program's exit code, and does not return if this process becomes the program or ends
// by the program's signal.
[[nodiscard]] int run_program(const RunOptions& options);

}  // namespace nerve::cli
