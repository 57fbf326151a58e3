// The sub-commands of `nerve`: each adds itself to the program and sets the exit code.
#pragma once

#include <CLI/CLI.hpp>

namespace nerve::cli {

// Exit codes of every sub-command, as documented by --help.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // it ran and found a problem
inline constexpr int kExitUsage = 2;   // invalid arguments

inline constexpr const char* kSimSummary = "Run a scenario in a simulated data centre";
inline constexpr const char* kPlanSummary =
    "Choose servers and a network for a job, with their cost";
inline constexpr const char* kLearnSummary = "Search a policy for learned congestion control";
inline constexpr const char* kSweepSummary = "Run a scenario for every combination of some values";

// Each sets `exit_code` if it is the command that was called.
void add_controller(CLI::App& program, int& exit_code);
void add_decode(CLI::App& program, int& exit_code);
void add_demo(CLI::App& program, int& exit_code);
void add_devices(CLI::App& program, int& exit_code);
void add_doctor(CLI::App& program, int& exit_code);
void add_key(CLI::App& program, int& exit_code);
void add_learn(CLI::App& program, int& exit_code);
void add_metrics(CLI::App& program, int& exit_code);
void add_plan(CLI::App& program, int& exit_code);
void add_run(CLI::App& program, int& exit_code);
void add_sim(CLI::App& program, int& exit_code);
void add_stat(CLI::App& program, int& exit_code);
void add_sweep(CLI::App& program, int& exit_code);
void add_top(CLI::App& program, int& exit_code);
void add_trace(CLI::App& program, int& exit_code);
void add_web(CLI::App& program, int& exit_code);

}  // namespace nerve::cli
