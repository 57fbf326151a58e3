#include "cli/demo_plan.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/child.h"
#include "cli/client_output.h"
#include "cli/run_plan.h"

namespace nerve::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Words = std::vector<std::string>;

// Time limits, so that the demo ends in reasonable time on a machine under load too.
constexpr seconds kStart{5};
constexpr seconds kRun{12};

Measure perftest(std::string program, Figure figure, Words options) {
  return {.program = std::move(program),
          .package = "perftest",
          .options = std::move(options),
          .figure = figure};
}

Measure latency_of(std::string program) {
  return perftest(std::move(program), Figure::kLatency, {"-s", "8", "-n", "1000"});
}

// Two seconds each: long enough for a steady result.
Measure bandwidth_of(std::string program) {
  return perftest(std::move(program), Figure::kBandwidth,
                  {"-s", "1048576", "-D", "2", "--report_gbits"});
}

// The arguments of one end. qperf's and iperf3's servers take only the port.
Words ends_of(const Measure& measure, const std::string& file, std::uint16_t port, bool client) {
  const std::string number = std::to_string(port);
  Words words{file};
  switch (measure.figure) {
    case Figure::kTcpLatency:
      words.insert(words.end(), {"-lp", number});
      if (client) words.push_back("127.0.0.1");
      break;
    case Figure::kTcpBandwidth:
      words.insert(words.end(), {"-p", number});
      if (client) words.insert(words.end(), {"-c", "127.0.0.1"});
      if (!client) words.insert(words.end(), {"-s", "-1"});
      break;
    default:
      words.insert(words.end(), {"-d", "nerve0", "-p", number});
      words.insert(words.end(), measure.options.begin(), measure.options.end());
      if (client) words.push_back("127.0.0.1");
      return words;
  }
  if (client) words.insert(words.end(), measure.options.begin(), measure.options.end());
  return words;
}

}  // namespace

std::vector<DemoRow> demo_rows() {
  const Measure tcp_latency{.program = "qperf",
                            .package = "qperf",
                            .options = {"-t", "2", "-m", "8", "tcp_lat"},
                            .figure = Figure::kTcpLatency};
  const Measure tcp_bandwidth{.program = "iperf3",
                              .package = "iperf3",
                              .options = {"-J", "-t", "2", "-l", "1M"},
                              .figure = Figure::kTcpBandwidth};
  return {
      {"latency, SEND of 8 B", latency_of("ib_send_lat"), tcp_latency},
      {"latency, WRITE of 8 B", latency_of("ib_write_lat"), std::nullopt},
      {"bandwidth, WRITE of 1 MB", bandwidth_of("ib_write_bw"), tcp_bandwidth},
      {"bandwidth, READ of 1 MB", bandwidth_of("ib_read_bw"), std::nullopt},
      {"messages, WRITE of 8 B",
       perftest("ib_write_bw", Figure::kMessages, {"-s", "8", "-D", "2", "--report_gbits"}),
       std::nullopt},
  };
}

std::string figure_text(Figure figure, double value) {
  switch (figure) {
    case Figure::kLatency:
    case Figure::kTcpLatency:
      return fmt::format("{:.2f} us", value);
    case Figure::kBandwidth:
    case Figure::kTcpBandwidth:
      return fmt::format("{:.1f} GB/s", value);
    case Figure::kMessages:
      return fmt::format("{:.1f} M/s", value);
  }
  return "?";
}

std::optional<double> read_figure(Figure figure, const std::string& text) {
  constexpr double kBitsPerByte = 8;
  switch (figure) {
    case Figure::kLatency:
      return perftest_latency(text);
    case Figure::kTcpLatency:
      return qperf_latency(text);
    case Figure::kBandwidth:
    case Figure::kMessages: {
      const auto found = perftest_bandwidth(text);
      if (!found) return std::nullopt;
      return figure == Figure::kMessages ? found->messages : found->gigabits / kBitsPerByte;
    }
    case Figure::kTcpBandwidth: {
      const auto found = iperf3_bandwidth(text);
      if (!found) return std::nullopt;
      return *found / kBitsPerByte;
    }
  }
  return std::nullopt;
}

host::Environment demo_environment(const Stage& stage, const host::Environment& settings) {
  host::Environment environment = host::process_environment();
  std::erase_if(environment, [](const auto& one) { return one.first.starts_with("NERVE_"); });
  environment["LD_LIBRARY_PATH"] = stage.library_folder;
  environment["LC_ALL"] = "C";  // the output is parsed
  environment["NERVE_CONFIG"] = "/dev/null";
  environment["NERVE_DEVICES"] = "nerve0=lo";
  for (const auto& [name, value] : settings) environment[name] = value;
  return environment;
}

Outcome run_measure(const Stage& stage, const Measure& measure, const host::Environment& settings) {
  const std::string file = find_command(measure.program, stage.path);
  if (file.empty()) {
    return {.value = std::nullopt,
            .why = fmt::format("{} is not installed: sudo apt-get install -y {}", measure.program,
                               measure.package)};
  }
  const host::Environment environment = demo_environment(stage, settings);
  const std::uint16_t port = free_tcp_port();
  const auto log_of = [&](const char* end) {
    return fmt::format("{}/{}.{}.{}.log", stage.folder, measure.program, port, end);
  };
  Child server{ends_of(measure, file, port, false), environment, log_of("server")};
  if (!wait_until_listening(server, port, kStart)) {
    const Child::Ended ended = server.wait(milliseconds{0});
    return {.value = std::nullopt,
            .why = fmt::format("the server did not start: {}", complaint(ended.text))};
  }
  Child client{ends_of(measure, file, port, true), environment, log_of("client")};
  const Child::Ended ended = client.wait(kRun);
  if (!ended.well) {
    return {
        .value = std::nullopt,
        .why = fmt::format("{}: {}; see {}", ended.why, complaint(ended.text), log_of("client"))};
  }
  Outcome outcome{.value = read_figure(measure.figure, ended.text), .why = {}};
  if (!outcome.value) {
    outcome.why = "no result in its output";
    return outcome;
  }
  std::error_code ignored;
  for (const char* end : {"server", "client"}) std::filesystem::remove(log_of(end), ignored);
  return outcome;
}

}  // namespace nerve::cli
