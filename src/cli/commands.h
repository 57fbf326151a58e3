// The sub-commands of `nerve`: each adds itself to the program and says how it went.
#pragma once

#include <CLI/CLI.hpp>

namespace nerve::cli {

// Exit codes of every sub-command, as --help tells them.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // it ran, and what it looked at is not in order
inline constexpr int kExitUsage = 2;   // it did not understand its arguments

inline constexpr const char* kSimSummary = "Run a scenario in a simulated data centre";
inline constexpr const char* kSweepSummary = "Run a scenario for every combination of some values";

// Each sets `exit_code` when it was the one called.
void add_decode(CLI::App& program, int& exit_code);
void add_demo(CLI::App& program, int& exit_code);
void add_devices(CLI::App& program, int& exit_code);
void add_doctor(CLI::App& program, int& exit_code);
void add_run(CLI::App& program, int& exit_code);
void add_sim(CLI::App& program, int& exit_code);
void add_stat(CLI::App& program, int& exit_code);
void add_sweep(CLI::App& program, int& exit_code);

}  // namespace nerve::cli
