// The `nerve-sim` program, which `nerve sim` and `nerve sweep` execute.
#include "cli/nerve_program.h"

int main(int argc, char** argv) { return nerve::cli::run_nerve_sim(argc, argv); }
