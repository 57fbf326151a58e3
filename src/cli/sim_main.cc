// `nerve-sim`: the simulator, as `nerve sim` and `nerve sweep` start it.
#include "cli/nerve_program.h"

int main(int argc, char** argv) { return nerve::cli::run_nerve_sim(argc, argv); }
