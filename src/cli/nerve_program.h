// The two programs of the command line. `nerve-sim` contains the simulator, so that the program
// that runs RDMA programs is built without it; `nerve sim` executes it.
#pragma once

namespace nerve::cli {

[[nodiscard]] int run_nerve(int argc, char** argv);
[[nodiscard]] int run_nerve_sim(int argc, char** argv);

}  // namespace nerve::cli
