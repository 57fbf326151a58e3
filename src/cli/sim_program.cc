#include <CLI/CLI.hpp>

#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/nerve_program.h"
#include "cli/report_page.h"
#include "cli/usage_error.h"

namespace nerve::cli {
namespace {

constexpr std::string_view kNoCharts = "This page has no charts";  // as web/plain/report.html says

}  // namespace

int run_nerve_sim(int argc, char** argv) {
  CLI::App program{"Nerve: a data centre in virtual time", "nerve"};
  expect_command(program);
  int exit_code = kExitOk;
  add_sim(program, exit_code);
  add_sweep(program, exit_code);
  add_plan(program, exit_code);
  add_learn(program, exit_code);
  program.set_version_flag("--version", [] {
    return std::string{"simulator  nerve-sim, report pages "} +
           (report_template().find(kNoCharts) == std::string_view::npos ? "with" : "without") +
           " charts";
  });
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return exit_code;
}

}  // namespace nerve::cli
