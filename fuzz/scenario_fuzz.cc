// Bytes as a scenario file: it is read to the end, every error has a position within the file, and
// no value is one that a simulation cannot handle.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "sim/scenario/scenario_file.h"

namespace {

using namespace nerve;
using namespace nerve::sim;

void check_network(const NetworkSpec& network) {
  CHECK(network.nic_rate >= Rate::megabits(1));
  CHECK(network.nic_delay >= Duration{} && network.trunk_delay >= Duration{});
  CHECK(network.oversubscription > 0);
  const FabricConfig& switches = network.switches;
  CHECK(switches.buffer.bytes > 0 && switches.buffer.pause_at.denominator > 0);
  CHECK(switches.buffer.pause_at.numerator > 0 && switches.buffer.drop_at.numerator > 0);
  CHECK(switches.marking.low <= switches.marking.high);
  CHECK(switches.marking.per_million <= 1'000'000);
}

void check_job(const JobSpec& job, std::uint64_t gpus) {
  CHECK(job.ranks > 0 && job.first_gpu + std::uint64_t{job.ranks} <= gpus);
  CHECK(!job.name.empty());
  for (const Straggler& straggler : job.stragglers) CHECK(straggler.rank < job.ranks);
  if (const auto* training = std::get_if<TrainingSpec>(&job.work)) {
    const ParallelismSpec& split = training->parallelism;
    CHECK(std::uint64_t{split.data} * split.tensor * split.pipeline == job.ranks);
    CHECK(training->model.parameters >= 1 && training->tflops > 0);
  }
}

void check(const Scenario& scenario) {
  const ServerSpec& servers = scenario.servers;
  const std::uint64_t gpus = std::uint64_t{servers.count} * servers.gpus;
  CHECK(gpus > 0 && gpus <= 1U << 20U);
  CHECK(servers.gpus % servers.nics == 0 || servers.nics % servers.gpus == 0);
  CHECK(!scenario.jobs.empty() && scenario.until > Duration{});
  check_network(scenario.back_end);
  if (scenario.front_end) check_network(*scenario.front_end);
  for (const JobSpec& job : scenario.jobs) check_job(job, gpus);
}

}  // namespace

// After a zero byte follow command-line keys, one per line.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const std::size_t zero = input.find('\0');
  const std::string_view text = input.substr(0, zero);
  std::string_view rest = zero == std::string_view::npos ? "" : input.substr(zero + 1);
  std::vector<Override> overrides;
  while (!rest.empty() && overrides.size() < 16) {
    const std::size_t line = rest.find('\n');
    if (const auto one = parse_override(rest.substr(0, line))) overrides.push_back(*one);
    rest.remove_prefix(line == std::string_view::npos ? rest.size() : line + 1);
  }
  const auto scenario = read_scenario(text, "fuzz.toml", overrides);
  if (scenario) {
    check(*scenario);
    return 0;
  }
  const auto lines =
      std::ranges::count(text, '\n') + 2;  // a missing end is reported behind the last line
  CHECK(!scenario.error().empty());
  for (const ScenarioError& error : scenario.error()) {
    CHECK(!error.message.empty() && error.line <= lines);
  }
  return 0;
}
