// Runs `nerve decode` in this process.
#pragma once

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace nerve::cli {

struct DecodeRun {
  int exit_code{};
  std::string out;
  std::string err;

  [[nodiscard]] bool prints(const std::string& part) const {
    return out.find(part) != std::string::npos;
  }
};

inline DecodeRun run_decode(std::vector<std::string> arguments) {
  CLI::App program{"test", "nerve"};
  DecodeRun run;
  add_decode(program, run.exit_code);
  arguments.insert(arguments.begin(), "decode");
  std::ranges::reverse(arguments);  // CLI11 takes them in reverse order
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    program.parse(arguments);
  } catch (const CLI::ParseError&) {
    run.exit_code = kExitUsage;
  }
  run.out = testing::internal::GetCapturedStdout();
  run.err = testing::internal::GetCapturedStderr();
  return run;
}

}  // namespace nerve::cli
