#include "bench/live/measure.h"

#include <fmt/format.h>
#include <sched.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/child.h"
#include "cli/client_output.h"
#include "cli/run_plan.h"

namespace nerve::bench {
namespace {

using std::chrono::seconds;
using Words = std::vector<std::string>;

// A loaded machine may take ten times as long as an idle one.
constexpr seconds kStart{10};
constexpr seconds kRun{90};
constexpr seconds kEnd{5};
constexpr const char* kHost = "127.0.0.1";

// The CPUs that share a core with this one; empty if the kernel does not say.
std::string siblings_of(int cpu) {
  std::ifstream file{
      fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu)};
  std::string text;
  std::getline(file, text);
  return text;
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

// The output of our own programs: one line, `value NUMBER`.
std::optional<double> own_value(const std::string& text) {
  std::istringstream fields{text};
  std::string word;
  double number = 0;
  if (!(fields >> word >> number) || word != "value") return std::nullopt;
  return number;
}

// Baselines use the distribution's libraries, and settings of the user are removed.
host::Environment environment_of(const Place& place, const Figure& figure) {
  const bool ours = figure.settings.contains("NERVE_TRANSPORT");
  host::Environment environment = cli::demo_environment(place.stage, figure.settings);
  if (figure.settings.contains("NERVE_SEAL")) {
    environment["NERVE_SEAL_KEY"] = place.stage.folder + kSealKey;
  }
  std::erase_if(environment, [&](const auto& one) {
    const std::string& name = one.first;
    if (figure.settings.contains(name)) return false;
    return name.starts_with("UCX_") || name.starts_with("FI_") ||
           (!ours && (name.starts_with("NERVE_") || name == "LD_LIBRARY_PATH"));
  });
  return environment;
}

// The port distinguishes the runs of a figure.
std::string log_of(const Place& place, const Figure& figure, std::uint16_t port, const char* end) {
  std::string name = figure.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return fmt::format("{}/{}.{}.{}.log", place.stage.folder, name, port, end);
}

cli::Outcome failed(std::string why) { return {.value = std::nullopt, .why = std::move(why)}; }

// The paths of all programs in the command: `taskset` or `chrt`, and what they start.
std::optional<Words> with_files(const Place& place, Words command) {
  if (place.realtime) command.insert(command.begin(), {"chrt", "-f", "1"});
  command[0] = cli::find_command(command[0], place.stage.path);
  if (command[0].empty()) return std::nullopt;
  return command;
}

}  // namespace

Cores choose_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  (void)::sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  if (cpus.empty()) return {};
  for (const int cpu : cpus) {
    if (siblings_of(cpu) != siblings_of(cpus[0])) return {.server = cpus[0], .client = cpu};
  }
  return {.server = cpus[0], .client = cpus.back()};
}

Words command_of(const Figure& figure, const Cores& cores, End end, std::uint16_t port) {
  const bool client = end == End::kClient;
  const std::string number = std::to_string(port);
  const std::string core = std::to_string(client ? cores.client : cores.server);
  Words words{"taskset", "-c", core, figure.program};
  switch (figure.tool) {
    case Tool::kPerftest:
      append(words, {"-F", "-d", "nerve0", "-p", number});
      append(words, figure.options);
      if (client) append(words, {kHost});
      break;
    case Tool::kUcx:
      if (client) append(words, {kHost, "-f", "-v"});
      append(words, {"-p", number});
      if (client) append(words, figure.options);
      break;
    case Tool::kFabric:
      append(words, {client ? "-P" : "-B", number});
      append(words, figure.options);
      if (client) append(words, {kHost});
      break;
    case Tool::kIperf3:
      append(words, {"-p", number});
      append(words, client ? Words{"-c", kHost} : Words{"-s", "-1"});
      if (client) append(words, figure.options);
      break;
    case Tool::kOwn:  // starts its own second process, and pins both
      words = {figure.program, std::to_string(cores.server), std::to_string(cores.client)};
      append(words, figure.options);
      break;
  }
  return words;
}

std::optional<double> read_figure(const Figure& figure, const std::string& text) {
  constexpr double kBitsPerByte = 8;
  const bool latency = figure.unit == Unit::kMicroseconds;
  switch (figure.tool) {
    case Tool::kPerftest: {
      if (latency) return cli::perftest_latency(text);
      const auto found = cli::perftest_bandwidth(text);
      if (!found) return std::nullopt;
      return figure.unit == Unit::kMillions ? found->messages : found->gigabits / kBitsPerByte;
    }
    case Tool::kUcx: {
      const auto found = cli::ucx_figures(text);
      if (!found) return std::nullopt;
      return latency ? found->latency : found->gigabytes;
    }
    case Tool::kFabric: {
      const auto found = cli::fabric_figures(text);
      if (!found) return std::nullopt;
      return latency ? found->latency : found->gigabytes;
    }
    case Tool::kIperf3: {
      const auto found = cli::iperf3_bandwidth(text);
      if (!found) return std::nullopt;
      return *found / kBitsPerByte;
    }
    case Tool::kOwn:
      return own_value(text);
  }
  return std::nullopt;
}

cli::Outcome measure(const Place& place, const Figure& figure) {
  Figure found = figure;
  found.program = figure.tool == Tool::kOwn ? place.programs + "/" + figure.program
                                            : cli::find_command(figure.program, place.stage.path);
  if (found.program.empty()) {
    return failed(fmt::format("{} is not installed: sudo apt-get install -y {}", figure.program,
                              figure.package));
  }
  const host::Environment environment = environment_of(place, figure);
  const std::uint16_t port = cli::free_tcp_port();
  const auto client_words = with_files(place, command_of(found, place.cores, End::kClient, port));
  const auto server_words = with_files(place, command_of(found, place.cores, End::kServer, port));
  if (!client_words || !server_words)
    return failed("taskset or chrt is missing; install util-linux");

  const std::string server_log = log_of(place, figure, port, "server");
  const std::string client_log = log_of(place, figure, port, "client");
  std::optional<cli::Child> server;
  if (figure.tool != Tool::kOwn) {
    server.emplace(*server_words, environment, server_log);
    if (!cli::wait_until_listening(*server, port, kStart)) {
      const cli::Child::Ended ended = server->wait(seconds{0});
      return failed(fmt::format("the server did not start: {}", cli::complaint(ended.text)));
    }
  }
  cli::Child client{*client_words, environment, client_log};
  const cli::Child::Ended ended = client.wait(kRun);
  if (!ended.well) return failed(fmt::format("{}: {}", ended.why, cli::complaint(ended.text)));
  if (server) (void)server->wait(kEnd);
  const cli::Outcome outcome{.value = read_figure(figure, ended.text), .why = {}};
  if (!outcome.value) return failed("no result in its output");
  std::error_code ignored;  // logs are kept only for failures
  std::filesystem::remove(server_log, ignored);
  std::filesystem::remove(client_log, ignored);
  return outcome;
}

std::string realtime_refused(const Place& place) {
  const std::string chrt = cli::find_command("chrt", place.stage.path);
  const std::string nothing = cli::find_command("true", place.stage.path);
  if (chrt.empty()) return "chrt is missing; install util-linux";
  cli::Child child{
      {chrt, "-f", "1", nothing}, host::process_environment(), place.stage.folder + "/chrt.log"};
  const cli::Child::Ended ended = child.wait(kStart);
  return ended.well ? "" : cli::complaint(ended.text);
}

}  // namespace nerve::bench
