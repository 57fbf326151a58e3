#include "cli/sim_compare.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/report_page.h"
#include "cli/run_folder.h"
#include "cli/scenario_input.h"
#include "sim/results/result_json.h"
#include "sim/results/summary.h"

namespace nerve::cli {
namespace {

constexpr const char* kCompareFooter = R"(
Prints the figures of each result beside those of the first. With --out also DIR/report.html, a page
of all of them.

Exit code: 0  they were compared
           1  a result could not be read, or the page could not be written
           2  invalid command line

Example:
    nerve sim compare results/rdma/result.json results/tcp/result.json --out results/rdma-tcp)";

struct CompareOptions {
  std::vector<std::string> files;
  std::string out;
};

int compare(const CompareOptions& options) {
  std::vector<std::string> texts;
  std::vector<sim::RunResult> results;
  for (const std::string& file : options.files) {
    auto text = read_text("sim compare", file);
    if (!text) return kExitFailed;
    auto result = sim::from_json(*text);
    if (!result) {
      fmt::print(stderr, "nerve sim compare: {}: {}; give a result.json of nerve sim\n", file,
                 result.error());
      return kExitFailed;
    }
    texts.push_back(*std::move(text));
    results.push_back(*std::move(result));
  }
  fmt::print("{}", sim::comparison(results));
  if (options.out.empty()) return kExitOk;
  const std::string page = options.out + "/report.html";
  if (!make_folder("sim compare", options.out)) return kExitFailed;
  if (!write_file("sim compare", page, report_page(texts))) return kExitFailed;
  fmt::print(stderr, "nerve sim compare: a page in {}\n", page);
  return kExitOk;
}

}  // namespace

void add_sim_compare(CLI::App& sim, int& exit_code) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = sim.add_subcommand("compare", "Compare results side by side");
  command->add_option("RESULT", options->files, "result.json of two runs or more")
      ->required()
      ->expected(2, -1);
  command->add_option("--out", options->out, "write a report page to this folder")
      ->type_name("DIR");
  command->footer(kCompareFooter);
  command->callback([options, &exit_code] { exit_code = compare(*options); });
}

}  // namespace nerve::cli
