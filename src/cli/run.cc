// `nerve run`: runs a program with our libibverbs instead of the system's.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/agent.h"
#include "cli/commands.h"
#include "cli/packages.h"
#include "cli/run.h"
#include "cli/run_parent.h"
#include "cli/run_plan.h"
#include "cli/this_program.h"
#include "host/config/settings.h"
#include "host/devices/interfaces.h"
#include "host/diagnostics/log.h"
#include "host/diagnostics/start_capture.h"
#include "host/host.h"
#include "host/peers/mapping.h"
#include "sysfs/namespace.h"
#include "sysfs/tree.h"

namespace nerve::cli {
namespace {

constexpr int kExitCannotRun = 126;  // the exit codes of shells
constexpr int kExitNotFound = 127;

constexpr const char* kRunFooter = R"(
Options of nerve come before CMD; everything after CMD is passed to it unchanged. Each option is also a
variable (NERVE_TRANSPORT, ...) and a key in ~/.config/nerve/nerve.toml; an option overrides a
variable, a variable overrides the file. docs/configuration.md describes them, docs/taps.md the SPEC.

Each run starts a new capture, unless a running program is writing to it: the two ends of one
run may share a FILE.

Exit code: that of CMD; 127 if CMD is not found, 126 if it cannot be run, 2 if the command line
is invalid.

Examples:
    nerve run -- ibv_devinfo
    nerve run --pcap run.pcap -- ib_write_bw
    nerve run --transport udp --fault 'loss=1%,seed=7' -- ib_send_lat 192.0.2.1
    nerve run --device nerve0=lo -- sh -c 'ib_read_bw & sleep 1; ib_read_bw localhost')";

constexpr std::string_view kEverydaySettings[] = {"transport", "devices", "pcap",
                                                  "fault",     "summary", "log"};

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ",") + word;
  return all;
}

// The variables that the options set; nothing, after an error message, if one of them is invalid.
std::optional<std::map<std::string, std::string>> chosen(const RunOptions& options) {
  std::map<std::string, std::string> variables = options.variables;
  host::Config tried;
  for (std::size_t i = 0; i < options.values.size(); ++i) {
    const host::Setting& setting = host::settings()[i];
    if (options.values[i].empty()) continue;
    std::string value = joined(options.values[i]);
    if (const std::string why = apply(setting, value, tried); !why.empty()) {
      fmt::print(stderr, "nerve run: {} {}\n", setting.flag, why);
      return std::nullopt;
    }
    // Absolute, because the program may change its working directory.
    const bool is_path =
        setting.key == "pcap" || setting.key == "trace_folder" || setting.key == "controller_key";
    if (is_path) value = std::filesystem::absolute(value).string();
    variables.emplace(setting.variable, value);
  }
  return variables;
}

host::Config configured(const std::map<std::string, std::string>& variables) {
  host::Environment environment = host::process_environment();
  for (const auto& [name, value] : variables) environment[name] = value;
  return host::load_config(environment).config;
}

// Chooses how the program is shown the paths it looks for, and enters the namespace if that is the
// choice; `devices` is then the folder of the devices. Nothing, after an error message, if the user
// requested a namespace and it cannot be created.
std::optional<host::Offer> make_offer(const host::Config& config, const std::string& file,
                                      host::Descriptor& devices) {
  const host::Offer offer = choose_offer(config.offer, file);
  if (offer != host::Offer::kNamespace) return offer;
  const sysfs::Tree tree = sysfs::current_tree(config);
  if (config.offer == host::Offer::kAuto && !sysfs::try_namespace(tree).empty()) {
    return host::Offer::kPreload;  // has no effect on a static program
  }
  const std::string why = sysfs::enter_namespace(tree, &devices);
  if (why.empty()) return offer;
  fmt::print(stderr, "nerve run: --offer namespace: {}; `nerve doctor` explains\n", why);
  return std::nullopt;
}

// Returns only on failure, with the exit code that a shell would use.
int become(const std::string& file, const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  (void)std::fflush(nullptr);
  ::execvp(file.c_str(), arguments.data());  // like a shell: a script needs no #! line
  const int why = errno;
  fmt::print(stderr, "nerve run: {}: {}; {}\n", command[0], std::strerror(why),
             why == ENOENT ? "check the path, and the interpreter in its #! line"
                           : "check that it is an executable program");
  return why == ENOENT ? kExitNotFound : kExitCannotRun;
}

// Warns of devices whose interface does not exist, because it may appear later. False if none of
// them exists: the program would find no device.
bool check_interfaces(const std::vector<host::DeviceName>& devices) {
  const std::vector<host::Interface> there = host::list_interfaces();
  std::size_t absent = 0;
  for (const host::DeviceName& device : devices) {
    if (std::ranges::find(there, device.interface, &host::Interface::name) != there.end()) continue;
    ++absent;
    fmt::print(stderr, "nerve run: {}={}: no such interface; `ip link` lists the interfaces\n",
               device.name, device.interface);
  }
  return absent == 0 || absent < devices.size();
}

std::string way_to_get(const std::string& command, const std::string& folders) {
  if (const std::string nearest = nearest_command(command, folders); !nearest.empty()) {
    return fmt::format("did you mean `{}`?", nearest);
  }
  const std::string_view package = package_of(command);
  return package.empty() ? "check the name, or install its package"
                         : fmt::format("sudo apt-get install -y {}", package);
}

}  // namespace

int run_program(const RunOptions& options) {
  const auto variables = chosen(options);
  if (!variables) return kExitUsage;
  std::unique_ptr<Agent> agent;
  if (const host::Config wanted = configured(*variables); !wanted.controller.empty()) {
    auto settings = agent_settings(wanted);
    if (!settings) {
      fmt::print(stderr, "nerve run: {}\n", settings.error());
      return kExitUsage;
    }
    host::set_log_level(wanted.log);
    agent = std::make_unique<Agent>(*std::move(settings));
  }
  if (!check_interfaces(configured(*variables).devices)) return kExitUsage;
  const std::string program = this_program().string();
  const auto folder = find_library_folder(program);
  if (!folder) {
    fmt::print(stderr, "nerve run: no libibverbs.so.1 for {}; {}\n", program, how_to_restore());
    return kExitCannotRun;
  }
  if (folder->find_first_of(" \t:;") != std::string::npos) {
    fmt::print(
        stderr,
        "nerve run: {}: the loader ends a path at a space, colon or semicolon; move nerve to "
        "a folder without them\n",
        *folder);
    return kExitCannotRun;
  }
  const char* path = std::getenv("PATH");
  const std::string folders = path != nullptr ? path : "/usr/bin";
  const std::string file = find_command(options.command[0], folders);
  if (file.empty()) {
    fmt::print(stderr, "nerve run: {}: not found in PATH; {}\n", options.command[0],
               way_to_get(options.command[0], folders));
    return kExitNotFound;
  }
  if (const auto why = ignores_library_path(file)) {
    fmt::print(stderr,
               "nerve run: {}: {}, so the loader ignores LD_LIBRARY_PATH and it will not use "
               "nerve; run a copy without that privilege\n",
               file, *why);
  }
  if (const auto pcap = variables->find("NERVE_PCAP"); pcap != variables->end()) {
    if (const std::string why = host::start_capture(pcap->second); !why.empty()) {
      fmt::print(stderr, "nerve run: {}\n", why);
      return kExitUsage;
    }
  }
  const host::Config config = configured(*variables);
  host::Descriptor devices;
  const auto offer = make_offer(config, file, devices);
  if (!offer) return kExitCannotRun;
  const auto changes = run_environment(*variables, *folder, *offer, host::process_environment());
  for (const auto& [name, value] : changes) ::setenv(name.c_str(), value.c_str(), 1);
  ParentDuties duties{
      .summary = config.summary, .every_second = {}, .at_start = {}, .at_end = options.at_end};
  if (agent) {
    duties.at_start = [&] { agent->start(); };
    duties.at_end = [&] {
      agent->stop();
      if (options.at_end) options.at_end();
    };
  }
  // In a namespace the files of counters are ordinary ones, which this process writes.
  if (devices) {
    duties.every_second = [&](const host::Records& records) {
      sysfs::Surroundings around = sysfs::look_around();
      around.traffic = records.by_device();
      refresh_counters(devices, make_tree(host::devices_of(config), around));
    };
  }
  if (!duties.summary && !duties.every_second && !duties.at_end)
    return become(file, options.command);
  return run_as_parent([&] { return become(file, options.command); }, duties);
}

namespace {

void add_setting(CLI::App& command, const host::Setting& setting,
                 std::vector<std::string>& values) {
  const std::string flag{setting.flag};
  const std::string help = fmt::format("{} [{}]", setting.help, setting.fallback);
  CLI::Option* option = nullptr;
  if (setting.value.empty()) {
    option = command.add_flag_callback(
        flag, [&values] { values = {"on"}; }, help);
  } else {
    option = command.add_option(flag, values, help)->allow_extra_args(false);
    option->type_name(std::string{setting.value});
    if (setting.key != "devices") option->expected(1);
  }
  const bool everyday =
      std::ranges::find(kEverydaySettings, setting.key) != std::end(kEverydaySettings);
  option->group(everyday ? "Options" : "More options");
}

}  // namespace

void add_settings(CLI::App& command, RunOptions& options, std::string_view except) {
  options.values.resize(host::settings().size());
  for (std::size_t i = 0; i < options.values.size(); ++i) {
    const host::Setting& setting = host::settings()[i];
    if (!setting.key.starts_with(except)) add_setting(command, setting, options.values[i]);
  }
}

void add_run(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      program.add_subcommand("run", "Run a program with nerve's libibverbs: nerve run -- CMD...");
  command->add_option("CMD", options->command, "the program and its arguments")->required();
  add_settings(*command, *options);
  command->footer(kRunFooter);
  command->callback([options, &exit_code] { exit_code = run_program(*options); });
}

}  // namespace nerve::cli
