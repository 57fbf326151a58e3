// `./nerve bench live`: stock RDMA programs on our library and their alternatives, one after the
// other on the same two cores; their ratios, and whether they meet our aims.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "bench/live/measure.h"
#include "bench/live/report.h"
#include "cli/child.h"
#include "cli/progress.h"
#include "cli/run_plan.h"
#include "host/seal/key_file.h"
#include "host/seal/libcrypto.h"

namespace nerve::bench {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

constexpr const char* kFooter = R"(
Each figure is measured several times, in turns, so that what disturbs the machine disturbs both
sides; the best counts, and in brackets stands how far the worst was from it. The two ends of every
program, ours and theirs, are pinned to two cores. A ratio is ours to theirs.

Takes about five minutes (--quick: half of one) and wants the machine for itself.

    ./nerve bench live --only 'shm' --json live.json

Exit code: 0  every program ran, whether or not the aims are met
           1  some did not; it says which
           2  the arguments make no sense)";

struct Options {
  bool quick{};
  bool list{};
  bool realtime{};
  int repeat{};
  std::string only;
  std::string json;
  std::string commit;
};

std::string first_line_with(const std::string& text, const std::string& title) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(title)) continue;
    const std::size_t at = line.find_first_not_of(" \t", title.size());
    return at == std::string::npos ? "" : line.substr(at);
  }
  return "unknown";
}

std::string cpu_model(const Place& place) {
  const std::string program = cli::find_command("lscpu", place.stage.path);
  if (program.empty()) return "unknown";
  cli::Child child{{program}, {{"LC_ALL", "C"}}, place.stage.folder + "/lscpu.log"};
  return first_line_with(child.wait(std::chrono::seconds{5}).text, "Model name:");
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  (void)::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  (void)std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

Circumstances circumstances_of(const Options& options, const Place& place) {
  utsname system{};
  (void)::uname(&system);
  return {.date = now_text(),
          .commit = options.commit,
          .cpu = cpu_model(place),
          .cpus = ::sysconf(_SC_NPROCESSORS_ONLN),
          .architecture = system.machine,
          .kernel = system.release,
          .pinned = fmt::format("{} and {}", place.cores.server, place.cores.client),
          .realtime = place.realtime,
          .quick = options.quick,
          .repeat = options.repeat};
}

std::optional<Place> set_place(bool realtime) {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto nerve = (program.parent_path() / "../../src/cli/nerve").lexically_normal();
  const auto library = cli::find_library_folder(nerve.string());
  if (!library) {
    fmt::print(stderr, "nerve bench live: the library that belongs to {} is not there\n",
               nerve.string());
    return std::nullopt;
  }
  std::string folder = std::filesystem::temp_directory_path(ignored) / "nerve-bench-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    fmt::print(stderr, "nerve bench live: cannot create a folder for logs at {}; set TMPDIR\n",
               folder);
    return std::nullopt;
  }
  if (const auto library_of_seals = host::Libcrypto::load()) {
    (void)host::make_preshared_key(**library_of_seals, folder + kSealKey);
  }
  const char* path = std::getenv("PATH");
  return Place{.stage = {.library_folder = *library,
                         .folder = folder,
                         .path = path != nullptr ? path : "/usr/bin:/bin"},
               .programs = program.parent_path().string(),
               .cores = choose_cores(),
               .realtime = realtime};
}

// Round-robin: every figure once, then every figure again.
Results measure_all(const Place& place, const Plan& plan, int repeat) {
  Results results{.plan = plan, .samples = std::vector<Samples>(plan.figures.size())};
  cli::Progress progress{plan.figures.size() * static_cast<std::size_t>(repeat)};
  for (int turn = 0; turn < repeat; ++turn) {
    for (std::size_t i = 0; i < plan.figures.size(); ++i) {
      progress.step(plan.figures[i].name);
      const cli::Outcome outcome = measure(place, plan.figures[i]);
      if (outcome.value) results.samples[i].values.push_back(*outcome.value);
      if (!outcome.value) results.samples[i].failure = outcome.why;
    }
  }
  return results;
}

bool write_json(const std::string& file, const std::string& text) {
  std::ofstream out{file};
  out << text;
  out.close();
  if (!out) fmt::print(stderr, "nerve bench live: cannot write {}\n", file);
  return !out.fail();
}

int bench(const Options& options, const Plan& plan) {
  const auto place = set_place(options.realtime);
  if (!place) return kExitFailed;
  if (options.realtime) {
    if (const std::string why = realtime_refused(*place); !why.empty()) {
      fmt::print(stderr, "nerve bench live: --realtime is not permitted here: {}\n", why);
      return kExitFailed;
    }
  }
  const Circumstances circumstances = circumstances_of(options, *place);
  const Results results = measure_all(*place, plan, options.repeat);
  fmt::print("{}\n{}", text_of(circumstances), table(results));
  const bool written =
      options.json.empty() || write_json(options.json, json(results, circumstances));
  if (!results.complete()) {
    fmt::print(stderr, "\n{}logs: {}\n", failures(results), place->stage.folder);
    return kExitFailed;
  }
  std::error_code ignored;
  std::filesystem::remove_all(place->stage.folder, ignored);
  return written ? kExitOk : kExitFailed;
}

int run(Options options) {
  Plan plan = make_plan(options.quick ? Effort::kQuick : Effort::kWhole);
  try {
    plan = plan.only(options.only);
  } catch (const std::regex_error& error) {
    fmt::print(stderr, "nerve bench live: --only '{}': {}\n", options.only, error.what());
    return kExitUsage;
  }
  if (plan.lines.empty()) {
    fmt::print(stderr, "nerve bench live: no line matches '{}'; --list shows them\n", options.only);
    return kExitUsage;
  }
  if (options.list) {
    for (const Line& line : plan.lines) fmt::print("{}\n", plan.title(line));
    return kExitOk;
  }
  if (options.repeat == 0) options.repeat = options.quick ? 1 : 3;
  return bench(options, plan);
}

}  // namespace
}  // namespace nerve::bench

int main(int argc, char** argv) {
  using nerve::bench::kExitOk;
  using nerve::bench::kExitUsage;
  CLI::App program{"Latency and bandwidth of Nerve and of other software on this machine",
                   "./nerve bench live"};
  nerve::bench::Options options;
  program.add_flag("--quick", options.quick, "only the lines with an aim, once, with shorter runs");
  program.add_option("--repeat", options.repeat, "runs per figure; default 3, with --quick 1")
      ->check(CLI::Range(1, 1000));
  program.add_option("--only", options.only, "only lines that match this regular expression");
  program.add_option("--json", options.json, "write all samples and results to this file");
  program.add_flag("--realtime", options.realtime,
                   "run the programs under `chrt -f 1`, if permitted");
  program.add_flag("--list", options.list, "print the lines without measuring");
  program.add_option("--commit", options.commit)->group("");
  program.footer(nerve::bench::kFooter);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return nerve::bench::run(options);
}
