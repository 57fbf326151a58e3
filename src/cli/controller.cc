// `nerve controller`: chooses the paths of the QPs of many hosts.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/controller_server.h"
#include "cli/file_bytes.h"
#include "cli/signals.h"
#include "controller/settings_file.h"

namespace nerve::cli {
namespace {

constexpr const char* kControllerFooter = R"(
In a network with ECMP, QPs whose packets hash alike share a cable while others are idle. The
controller learns from the hosts which QPs send and which routers their packets pass, and gives each QP
the UDP source port whose path is shared least. When a path is lost, it moves the QPs on it to others.

  nerve key ~/.nerve-controller                       once; copy the file to all hosts
  nerve controller --listen 10.0.0.9:4790 --key ~/.nerve-controller
  nerve run --controller 10.0.0.9:4790 --controller-key ~/.nerve-controller -- PROGRAM     on each host

If the controller ends, traffic goes on as it is. It orders only source ports and limits of rates. What
it and the agents say is authenticated with the key, not encrypted.

CONFIG.toml is optional, and so is each of its keys:

  nic_rate = "400 Gb/s"                      with it: advice on how many QPs a pair of hosts needs

  [[link]]                                   cables with rates, to weigh loads
  between = ["10.1.0.2", "10.2.0.1"]
  rate = "100 Gb/s"

  [[class]]                                  each flow of this traffic class
  traffic_class = 106
  rate_limit = "10 Gb/s"

Exit code: 0  ended by Ctrl-C or SIGTERM
           1  it cannot listen, or read a file
           2  the command line was not understood

Examples:
    nerve controller --key ~/.nerve-controller
    nerve controller fabric.toml --listen 10.0.0.9:4790 --key ~/.nerve-controller --json | tee log)";

struct ControllerOptions {
  std::string config;
  std::string listen{"127.0.0.1:4790"};
  std::string key;
  bool json{};
  bool quiet{};
};

int controller_failed(const std::string& why, int code) {
  fmt::print(stderr, "nerve controller: {}\n", why);
  return code;
}

// One descriptor for each agent: more than programs may open by default.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

double unix_seconds() {
  using std::chrono::milliseconds;
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<double>(std::chrono::duration_cast<milliseconds>(since).count()) / 1000;
}

void print_event(const ControllerOptions& options, const std::string& line, nlohmann::json object) {
  if (options.quiet) return;
  if (options.json) {
    object["time"] = unix_seconds();
    fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}\n", line);
  }
  (void)std::fflush(stdout);
}

int serve_agents(const ControllerOptions& options, const ListenAddress& address,
                 const seal::SharedKey& key, controller::PlannerSettings settings) {
  const Signals signals{SIGINT, SIGTERM, SIGHUP};
  raise_descriptor_limit();
  auto server = ControllerServer::open(address, key, std::move(settings),
                                       [&options](const std::string& line, nlohmann::json object) {
                                         print_event(options, line, std::move(object));
                                       });
  if (!server) return controller_failed(server.error(), kExitFailed);
  const std::string where = fmt::format("{}:{}", address.host(), server->port());
  print_event(options, "listening at " + where, {{"event", "listening"}, {"address", where}});
  for (;;) {
    std::vector<pollfd> waiting{{.fd = signals.descriptor(), .events = POLLIN, .revents = 0}};
    const auto patience = server->add_to(waiting);
    (void)::poll(waiting.data(), waiting.size(), static_cast<int>(patience.count()));
    if (signals.take()) return kExitOk;
    server->serve();
  }
}

int run_controller(const ControllerOptions& options) {
  const auto address = parse_listen_address(options.listen);
  if (!address) return controller_failed("--listen " + address.error(), kExitUsage);
  if (options.key.empty()) {
    return controller_failed(
        "--key FILE is missing; create the file with: nerve key FILE, and copy it to all hosts",
        kExitUsage);
  }
  const auto key = read_controller_key(options.key);
  if (!key) return controller_failed(key.error(), kExitFailed);
  controller::PlannerSettings settings;
  if (!options.config.empty()) {
    constexpr std::uint64_t kLongest = 16U << 20U;
    const FileBytes file = read_bytes(options.config, kLongest);
    if (!file.error.empty()) return controller_failed(file.error, kExitFailed);
    const std::string_view text{reinterpret_cast<const char*>(file.bytes.data()),
                                file.bytes.size()};
    auto read = controller::read_settings(text, options.config);
    if (!read) return controller_failed(read.error(), kExitFailed);
    settings = *std::move(read);
  }
  return serve_agents(options, *address, *key, std::move(settings));
}

}  // namespace

void add_controller(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<ControllerOptions>();
  CLI::App* command =
      program.add_subcommand("controller", "Choose the paths of the QPs of many hosts");
  command->add_option("CONFIG.toml", options->config, "rates of cables, limits of traffic classes");
  command
      ->add_option("--listen", options->listen,
                   "where agents connect; default 127.0.0.1:4790, only this machine")
      ->type_name("ADDRESS:PORT");
  command->add_option("--key", options->key, "what agents must know; nerve key FILE creates it")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print a JSON object for each event");
  command->add_flag("--quiet", options->quiet, "print no events");
  command->footer(kControllerFooter);
  command->callback([options, &exit_code] { exit_code = run_controller(*options); });
}

}  // namespace nerve::cli
