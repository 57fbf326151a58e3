// `mpirun nerve sweep`: rank zero hands out the runs; every rank, also rank zero, does some, each
// in a child process, and sends the result file to rank zero, which writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/mpi_ranks.h"
#include "cli/sweep_pool.h"

namespace nerve::cli {

// Of rank zero.
struct SharedSweep {
  std::vector<std::size_t> runs;  // numbers
  // All that a rank has to know of a run.
  std::function<std::string(std::size_t number)> describe;
  // The text of the result file of a run, if it has ended well.
  std::function<void(std::size_t number, const Done& done, const std::string& result)> on_done;
  SweepPool::OnTick on_tick;
};

// Of each rank.
struct Hands {
  std::string program;     // a sum of it: ranks of another build are refused
  std::size_t at_once{1};  // runs
  // Runs in a child: writes the result to this file.
  std::function<bool(const std::string& description, const std::string& file, RunStatus& status)>
      work;
};

enum class SweepEnd : std::uint8_t { kComplete, kInterrupted, kFailed };

// Of rank zero. When it fails, it has printed why.
[[nodiscard]] SweepEnd lead_sweep(MpiRanks& ranks, const SharedSweep& sweep, const Hands& hands);
// Of any other rank: returns when there is nothing left to do. False if rank zero is gone.
[[nodiscard]] bool serve_sweep(MpiRanks& ranks, const Hands& hands);

}  // namespace nerve::cli
