// `nerve web`: live counters and finished reports on a local page.
#include <fmt/format.h>
#include <signal.h>

#include <memory>

#include "cli/commands.h"
#include "cli/http_server.h"
#include "cli/page_file.h"
#include "cli/sample_json.h"
#include "cli/web_routes.h"

namespace nerve::cli {
namespace {

constexpr const char* kWebFooter = R"(
Prints an address to open in a browser: what running programs send and receive, as charts and tables
that update every second, and the reports below FOLDER (pages of nerve sim, sweep and trace). It ends by
Ctrl-C or SIGTERM, with status 0.

The address has a token that is new every time: other users of this machine cannot read the page
without it. Only 127.0.0.1 is listened to unless --listen says otherwise; there is no encryption, so
from another machine use ssh -L 9401:127.0.0.1:9401.

Exit code: 0  ended by a signal
           1  it cannot listen there, or its page is missing
           2  the command line was not understood

Examples:
    nerve web
    nerve web --listen 127.0.0.1:9401 --reports results)";

struct WebOptions {
  std::string listen{"127.0.0.1:0"};
  std::string reports{"results"};
};

int web(const WebOptions& options) {
  const auto address = parse_listen_address(options.listen);
  if (!address) {
    fmt::print(stderr, "nerve web: --listen {}\n", address.error());
    return kExitUsage;
  }
  const Signals signals{SIGINT, SIGTERM, SIGHUP};
  auto keeper = host::StatisticsKeeper::make();
  host::RecordReader records;
  if (keeper) records.add(keeper->statistics());
  const auto page = read_page("live.html");
  if (!page) {
    fmt::print(stderr, "nerve web: {}\n", page.error());
    return kExitFailed;
  }
  const std::string token = random_token();
  auto server = HttpServer::open(
      *address, WebRoutes{.token = token, .page = *page, .reports = options.reports, .sample = [&] {
                            return sample_json(take_sample(records));
                          }});
  if (!server) {
    fmt::print(stderr, "nerve web: {}\n", server.error());
    return kExitFailed;
  }
  if (!address->loopback) {
    fmt::print(
        stderr,
        "nerve web: {} is no loopback address: who sees this address in the network can read "
        "your counters and reports\n",
        address->text);
  }
  fmt::print("nerve web: http://{}:{}/{}/\n", address->host(), server->port(), token);
  (void)std::fflush(stdout);
  serve_until(signals, *server, keeper ? &*keeper : nullptr);
  return kExitOk;
}

}  // namespace

void add_web(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<WebOptions>();
  CLI::App* command =
      program.add_subcommand("web", "Live counters and finished reports on a local page");
  command->add_option("--listen", options->listen, "serve at ADDRESS:PORT [127.0.0.1, a free port]")
      ->type_name("ADDRESS:PORT");
  command->add_option("--reports", options->reports, "the folder with reports [results]")
      ->type_name("FOLDER");
  command->footer(kWebFooter);
  command->callback([options, &exit_code] { exit_code = web(*options); });
}

}  // namespace nerve::cli
