// Prints the hash of each scenario's result: hash_of [--cores N] FILE.toml... The simulator and
// nothing else, so that it can be built for any machine.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/run.h"
#include "sim/scenario/scenario_file.h"

namespace {

bool print_hash(const std::string& file, std::uint32_t cores) {
  std::ifstream in{file};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  const auto scenario = nerve::sim::read_scenario(text, file, {});
  if (!in || !scenario) {
    const std::string why = scenario ? "cannot be read" : text_of(scenario.error()[0]);
    fmt::print(stderr, "hash_of: {}: {}\n", file, why);
    return false;
  }
  nerve::sim::RunOptions options;
  options.cores = cores;
  const auto result = run(*scenario, options);
  if (!result) {
    fmt::print(stderr, "hash_of: {}: {}\n", file, result.error());
    return false;
  }
  fmt::print("{} {:016x}\n", std::filesystem::path{file}.stem().string(), hash_of(*result));
  return std::fflush(stdout) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t cores = 1;
  bool good = argc > 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--cores") == 0 && i + 1 < argc) {
      const char* const number = argv[++i];
      good &= std::from_chars(number, number + std::strlen(number), cores).ec == std::errc{};
      continue;
    }
    good &= print_hash(argv[i], cores);
  }
  return good ? 0 : 1;
}
