#include "cli/sim_together.h"

#include <fmt/format.h>

#include <optional>

#include "cli/commands.h"
#include "cli/file_bytes.h"
#include "cli/memory_room.h"
#include "cli/run_folder.h"
#include "cli/scenario_input.h"
#include "cli/sim_sums.h"
#include "sim/scenario/scenario_file.h"

namespace nerve::cli {
namespace {

std::string sum_of_file(const std::string& file) {
  const FileBytes read = read_bytes(file);
  return read.error.empty() ? sum_of(read.bytes) : "cannot be read";
}

std::string text_of(const std::vector<sim::Override>& overrides) {
  std::string text;
  for (const sim::Override& one : overrides) text += " " + one.key + "=" + one.value;
  return text.empty() ? "none" : text.substr(1);
}

// Prints it once.
int fail(const sim::Ranks& ranks, const std::string& why) {
  if (ranks.rank() == 0 || !ranks.trouble().empty()) {
    const std::string who = ranks.rank() == 0 ? "" : fmt::format("rank {}: ", ranks.rank());
    fmt::print(stderr, "nerve sim: {}{}\n", who, why);
  }
  return kExitFailed;
}

std::optional<sim::Scenario> parse(const sim::Ranks& ranks, const std::string& text,
                                   const Together& what) {
  if (ranks.rank() == 0) return make_scenario(text, what.scenario, what.overrides);
  auto scenario = sim::read_scenario(text, what.scenario, what.overrides);
  return scenario ? std::optional{*std::move(scenario)} : std::nullopt;
}

}  // namespace

int simulate_together(sim::Ranks& ranks, Together what) {
  if (what.scenario == "-") return fail(ranks, "standard input reaches only one rank; name a file");
  const std::string why = agree(ranks, {{"nerve-sim", sum_of_program()},
                                        {"scenario", sum_of_file(what.scenario)},
                                        {"--set or --seed", text_of(what.overrides)}});
  if (!why.empty()) return fail(ranks, why);
  const auto text = read_text("sim", what.scenario);
  if (!text) return kExitFailed;
  const auto scenario = parse(ranks, *text, what);
  if (!scenario) return kExitFailed;
  std::string room = no_room(sim::memory_needed(*scenario, ranks.count()), available_memory());
  if (what.anyway) room.clear();
  if (const std::string full = sim::first_trouble(ranks, room); !full.empty()) {
    return fail(ranks, fmt::format("{}: {}", what.scenario, full));
  }
  const std::string folder = what.out.empty() ? folder_for(scenario->name) : what.out;
  const bool has_folder = ranks.rank() != 0 || make_folder("sim", folder);
  if (!sim::first_trouble(ranks, has_folder ? "" : "no folder for results").empty()) {
    return kExitFailed;
  }
  sim::RunOptions options;
  if (ranks.rank() == 0) options = std::move(what.options);
  options.cores = what.cores;
  options.ranks = &ranks;
  const auto result = sim::run(*scenario, options);
  if (!result) return fail(ranks, fmt::format("{}: {}", scenario->name, result.error()));
  return ranks.rank() == 0 ? what.show(folder, *result) : kExitOk;
}

}  // namespace nerve::cli
