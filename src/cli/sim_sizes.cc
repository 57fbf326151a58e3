#include "cli/sim_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/run_folder.h"
#include "cli/sim_state.h"

namespace nerve::cli {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50U;
constexpr std::uint64_t kMostFactor = 1U << 20U;

// 64, 8K, 1M, 2G; none if it is not a size of at least one byte.
std::optional<std::uint64_t> parse_size(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const std::string_view unit = word.substr(static_cast<std::size_t>(end - word.data()));
  constexpr std::string_view kUnits = "KMGT";
  unsigned shift = 0;
  if (!unit.empty()) {
    const std::size_t at = kUnits.find(unit[0]);
    if (unit.size() != 1 || at == std::string_view::npos) return std::nullopt;
    shift = 10 * static_cast<unsigned>(at + 1);
  }
  if (error != std::errc{} || value == 0 || value > kMostBytes >> shift) return std::nullopt;
  return value << shift;
}

// One collective with buffers of one size.
struct Measured {
  std::string name;
  std::string work;
  bool done{};
  double seconds{};  // of an iteration, on average
  double algorithm_bandwidth{};
  double bus_bandwidth{};
  double bus_bandwidth_bound{};
};

struct Row {
  std::uint64_t size{};
  std::string hash;  // of the result
  std::vector<Measured> jobs;
};

Measured measure(const sim::JobResult& job, std::uint64_t size) {
  Measured measured{.name = job.name, .work = job.work, .done = job.done};
  double sum = 0;
  for (const Duration step : job.steps) sum += static_cast<double>(step.count()) / 1e12;
  if (sum <= 0) return measured;
  measured.seconds = sum / static_cast<double>(job.steps.size());
  measured.algorithm_bandwidth = static_cast<double>(size) / measured.seconds;
  measured.bus_bandwidth = job.bus_bandwidth;
  const double bound = static_cast<double>(job.bound.count()) / 1e12;
  if (bound > 0) measured.bus_bandwidth_bound = job.bus_bandwidth * measured.seconds / bound;
  return measured;
}

// The names of the jobs if there are several, the columns and their units.
void print_head(const std::vector<sim::JobSpec>& jobs) {
  const auto line = [&](std::string_view first, auto&& each) {
    fmt::print("#{:>13}", first);
    for (const sim::JobSpec& job : jobs) fmt::print("{}", each(job));
    fmt::print("\n");
  };
  if (jobs.size() > 1) {
    line("", [](const sim::JobSpec& job) { return fmt::format("  {:>44.44}", job.name); });
  }
  const auto four = [](auto a, auto b, auto c, auto d) {
    return fmt::format("  {:>11}{:>11}{:>11}{:>11}", a, b, c, d);
  };
  line("size", [&](const sim::JobSpec&) { return four("time", "algbw", "busbw", "bound"); });
  line("(B)", [&](const sim::JobSpec&) { return four("(us)", "(GB/s)", "(GB/s)", "(GB/s)"); });
}

void print_row(const Row& row) {
  fmt::print("{:>14}", row.size);
  for (const Measured& job : row.jobs) {
    if (!job.done) {
      fmt::print("  {:>44}", "not completed");
      continue;
    }
    fmt::print("  {:>11.2f}{:>11.2f}{:>11.2f}{:>11.2f}", job.seconds * 1e6,
               job.algorithm_bandwidth / 1e9, job.bus_bandwidth / 1e9,
               job.bus_bandwidth_bound / 1e9);
  }
  fmt::print("\n");
  (void)std::fflush(stdout);  // as it comes: the next size may take long
}

std::string json_of(const sim::Scenario& scenario, const std::vector<Row>& rows) {
  nlohmann::ordered_json all{{"scenario", scenario.name}, {"seed", scenario.seed}};
  all["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json one{{"size", row.size}, {"hash", row.hash}};
    for (const Measured& job : row.jobs) {
      one["jobs"].push_back({{"name", job.name},
                             {"work", job.work},
                             {"done", job.done},
                             {"seconds", job.seconds},
                             {"algorithm_bandwidth", job.algorithm_bandwidth},
                             {"bus_bandwidth", job.bus_bandwidth},
                             {"bus_bandwidth_bound", job.bus_bandwidth_bound}});
    }
    all["rows"].push_back(std::move(one));
  }
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// Gives every job this size. False if a job is no collective.
bool set_size(sim::Scenario& scenario, std::uint64_t size) {
  for (sim::JobSpec& job : scenario.jobs) {
    auto* const collective = std::get_if<sim::CollectiveSpec>(&job.work);
    if (collective == nullptr) {
      fmt::print(stderr, "nerve sim: --sizes: job \"{}\" is no collective; remove it\n", job.name);
      return false;
    }
    collective->bytes = size;
  }
  return true;
}

}  // namespace

Result<std::vector<std::uint64_t>, std::string> parse_sizes(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return Unexpected{
        fmt::format("{}: {}; write FIRST:LAST or FIRST:LAST:FACTOR, as in 1K:1G or "
                    "1K:1G:4",
                    text, why)};
  };
  std::vector<std::string_view> words;
  for (std::string_view rest = text;;) {
    const std::size_t colon = rest.find(':');
    words.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (words.size() < 2 || words.size() > 3) return wrong("not two or three numbers");
  const auto first = parse_size(words[0]);
  const auto last = parse_size(words[1]);
  if (!first) return wrong(fmt::format("\"{}\" is not a size from 1 to 1024T", words[0]));
  if (!last) return wrong(fmt::format("\"{}\" is not a size from 1 to 1024T", words[1]));
  if (*last < *first) return wrong("the last size is below the first");
  const auto factor = words.size() == 3 ? parse_size(words[2]) : 2;
  if (!factor || *factor < 2 || *factor > kMostFactor) {
    return wrong(fmt::format("the factor is \"{}\", expected 2 or more", words[2]));
  }
  std::vector<std::uint64_t> sizes;
  std::uint64_t size = *first;
  sizes.push_back(size);
  while (size <= *last / *factor) sizes.push_back(size *= *factor);
  return sizes;
}

int simulate_sizes(sim::Scenario scenario, const SizesOptions& options, const RunScenario& run) {
  if (!set_size(scenario, options.sizes.front())) return kExitUsage;
  if (!make_folder("sim", options.folder)) return kExitFailed;
  if (!options.json) print_head(scenario.jobs);
  std::vector<Row> rows;
  bool well = true;
  for (const std::uint64_t size : options.sizes) {
    (void)set_size(scenario, size);
    const auto result = run(scenario);
    if (!result) return kExitFailed;
    Row row{.size = size, .hash = fmt::format("{:016x}", sim::hash_of(*result)), .jobs = {}};
    for (const sim::JobResult& job : result->jobs) {
      row.jobs.push_back(measure(job, size));
      if (!job.done) fmt::print(stderr, "nerve sim: {}: {}\n", job.name, job.trouble);
    }
    well = well && all_done(*result);
    if (!options.json) print_row(row);
    rows.push_back(std::move(row));
  }
  const std::string json = json_of(scenario, rows);
  if (options.json) fmt::print("{}", json);
  const bool written = write_file("sim", options.folder + "/sizes.json", json);
  if (written && !options.quiet) {
    fmt::print(stderr, "nerve sim: the table is also in {}/sizes.json\n", options.folder);
  }
  return well && written ? kExitOk : kExitFailed;
}

}  // namespace nerve::cli
