#include "cli/sim_both.h"

#include <fmt/format.h>

#include <array>

#include "cli/commands.h"
#include "cli/report_page.h"
#include "cli/run_folder.h"
#include "cli/sim_state.h"
#include "sim/results/result_json.h"
#include "sim/results/summary.h"

namespace nerve::cli {
namespace {

void print_errors(const sim::RunResult& packets, const sim::RunResult& flows) {
  fmt::print("{}\n", sim::flow_errors(packets, flows));
  const std::string beyond = sim::beyond_flows(packets);
  if (beyond.empty()) {
    fmt::print("nothing was lost or paused with packets\n");
  } else {
    fmt::print("do not rely on flows here: with packets there were {}\n", beyond);
  }
  for (const std::string& remark : flows.remarks) fmt::print("flows: {}\n", remark);
}

}  // namespace

int simulate_both(sim::Scenario scenario, const std::string& folder, bool quiet,
                  const RunScenario& run) {
  std::array<sim::RunResult, 2> results;
  std::array<std::string, 2> texts;
  constexpr std::array kNames{"packet", "flow"};
  bool done = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    scenario.fidelity = i == 0 ? sim::Fidelity::kPacket : sim::Fidelity::kFlow;
    auto result = run(scenario);
    if (!result) return kExitFailed;
    done = done && all_done(*result);
    results[i] = *std::move(result);
    texts[i] = sim::to_json(results[i]);
    const std::string own = folder + "/" + kNames[i];
    if (!make_folder("sim", own)) return kExitFailed;
    if (!write_file("sim", own + "/result.json", texts[i])) return kExitFailed;
  }
  print_errors(results[0], results[1]);
  if (!write_file("sim", folder + "/report.html", report_page(texts))) return kExitFailed;
  if (!quiet) {
    fmt::print(stderr, "nerve sim: results in {0}/packet and {0}/flow, a page in {0}/report.html\n",
               folder);
  }
  return done ? kExitOk : kExitFailed;
}

}  // namespace nerve::cli
