// `nerve sim compare`: several results side by side.
#pragma once

#include <CLI/CLI.hpp>

namespace nerve::cli {

void add_sim_compare(CLI::App& sim, int& exit_code);

}  // namespace nerve::cli
