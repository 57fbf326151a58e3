// The `nerve-sim` program, which `nerve sim`, `nerve sweep` and `nerve plan` execute.
#include "cli/nerve_program.h"

int main(int argc, char** argv) { return nerve::cli::run_nerve_sim(argc, argv); }
