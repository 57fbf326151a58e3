// The `nerve` program.
#include "cli/nerve_program.h"

int main(int argc, char** argv) { return nerve::cli::run_nerve(argc, argv); }
