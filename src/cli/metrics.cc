// `nerve metrics`: the counters of all programs for Prometheus, printed once or served.
#include <fmt/format.h>
#include <signal.h>

#include <memory>

#include "cli/commands.h"
#include "cli/http_server.h"
#include "cli/metrics_text.h"
#include "cli/signals.h"
#include "host/peers/statistics_keeper.h"

namespace nerve::cli {
namespace {

constexpr const char* kMetricsFooter = R"(
Without --listen it prints one scrape and ends. With it, GET /metrics is answered until Ctrl-C or
SIGTERM, which end it with status 0. While it runs, programs that have ended still count.

Names are those of node_exporter's infiniband collector (node_infiniband_..._total), summed over the
programs that use a device, and nerve_..._total for each program and device; docs/metrics.md lists
them all. examples/grafana/ has a dashboard.

ADDRESS is 127.0.0.1 unless given: a port alone never listens to other machines. To be scraped from
elsewhere, give the numeric address of an interface, or 0.0.0.0; every machine that reaches it can then
read the names, pids and traffic of your programs.

Exit code: 0  printed, or ended by a signal
           1  it cannot listen there
           2  the command line was not understood

Examples:
    nerve metrics
    nerve metrics --listen 127.0.0.1:9400
    curl -s http://127.0.0.1:9400/metrics | grep nerve_path_bytes_total)";

HttpAnswer answer(std::string_view path, host::RecordReader& records) {
  constexpr std::string_view kExposition = "text/plain; version=0.0.4; charset=utf-8";
  if (path == "/metrics") {
    return {.type = kExposition, .body = metrics_text(take_sample(records))};
  }
  if (path == "/") return {.body = "nerve metrics\n\nGET /metrics has them, for Prometheus.\n"};
  return not_found("there is /metrics, and nothing else\n");
}

int serve(const ListenAddress& address) {
  const Signals signals{SIGINT, SIGTERM, SIGHUP};
  auto keeper = host::StatisticsKeeper::make();
  host::RecordReader records;
  if (keeper) records.add(keeper->statistics());
  auto server = HttpServer::open(
      address, [&records](std::string_view path) { return answer(path, records); });
  if (!server) {
    fmt::print(stderr, "nerve metrics: {}\n", server.error());
    return kExitFailed;
  }
  if (!address.loopback) {
    fmt::print(stderr, "nerve metrics: other machines can read this: {} is no loopback address\n",
               address.text);
  }
  fmt::print("nerve metrics: http://{}:{}/metrics\n", address.host(), server->port());
  (void)std::fflush(stdout);
  serve_until(signals, *server, keeper ? &*keeper : nullptr);
  return kExitOk;
}

int metrics(const std::string& listen) {
  if (listen.empty()) {
    host::RecordReader records;
    fmt::print("{}", metrics_text(take_sample(records)));
    return kExitOk;
  }
  const auto address = parse_listen_address(listen);
  if (address) return serve(*address);
  fmt::print(stderr, "nerve metrics: --listen {}\n", address.error());
  return kExitUsage;
}

}  // namespace

void add_metrics(CLI::App& program, int& exit_code) {
  auto listen = std::make_shared<std::string>();
  CLI::App* command = program.add_subcommand("metrics", "Counters of all programs, for Prometheus");
  command->add_option("--listen", *listen, "serve them over HTTP at ADDRESS:PORT")
      ->type_name("ADDRESS:PORT");
  command->footer(kMetricsFooter);
  command->callback([listen, &exit_code] { exit_code = metrics(*listen); });
}

}  // namespace nerve::cli
