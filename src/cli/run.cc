// `nerve run`: any program with our libibverbs in the place of the machine's.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "cli/packages.h"
#include "cli/run_plan.h"
#include "cli/this_program.h"
#include "host/config/settings.h"
#include "host/devices/interfaces.h"
#include "host/diagnostics/start_capture.h"
#include "host/host.h"
#include "offer/namespace.h"
#include "offer/tree.h"

namespace nerve::cli {
namespace {

constexpr int kExitCannotRun = 126;  // as shells do
constexpr int kExitNotFound = 127;

constexpr const char* kRunFooter = R"(
CMD and its arguments are run as they are; our own options come before it. Each option is also a
variable (NERVE_TRANSPORT, ...) and a key in ~/.config/nerve/nerve.toml; an option wins over a
variable, a variable over the file. docs/configuration.md tells all, docs/taps.md what SPEC can say.

A capture begins anew with each run, unless a program that still runs writes to it: the ends of one
run may share a FILE.

Exit code: that of CMD; 127 when it is not found, 126 when it cannot be run, 2 when the command line
was not understood.

Examples:
    nerve run -- ibv_devinfo
    nerve run --pcap run.pcap -- ib_write_bw
    nerve run --transport udp --fault 'loss=1%,seed=7' -- ib_send_lat 192.0.2.1
    nerve run --device nerve0=lo -- sh -c 'ib_read_bw & sleep 1; ib_read_bw localhost')";

constexpr std::string_view kEverydaySettings[] = {"transport", "devices", "pcap",
                                                  "fault",     "summary", "log"};

struct RunOptions {
  std::vector<std::vector<std::string>> values;  // for each setting
  std::vector<std::string> command;
};

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ",") + word;
  return all;
}

// The variables that the options stand for; nothing when one of them is wrong, which is then told.
std::optional<std::map<std::string, std::string>> chosen(const RunOptions& options) {
  std::map<std::string, std::string> variables;
  host::Config tried;
  for (std::size_t i = 0; i < options.values.size(); ++i) {
    const host::Setting& setting = host::settings()[i];
    if (options.values[i].empty()) continue;
    std::string value = joined(options.values[i]);
    if (const std::string why = apply(setting, value, tried); !why.empty()) {
      fmt::print(stderr, "nerve run: {} {}\n", setting.flag, why);
      return std::nullopt;
    }
    // The program may change its folder, or start others elsewhere.
    if (setting.key == "pcap") value = std::filesystem::absolute(value).string();
    variables.emplace(setting.variable, value);
  }
  return variables;
}

host::Config configured(const std::map<std::string, std::string>& variables) {
  host::Environment environment = host::process_environment();
  for (const auto& [name, value] : variables) environment[name] = value;
  return host::load_config(environment).config;
}

// The way in which the program is shown what it looks for, done as far as it is done here; nothing
// when it was asked for and is not to be had, which is then told.
std::optional<host::Offer> make_offer(const std::map<std::string, std::string>& variables,
                                      const std::string& file) {
  const host::Config config = configured(variables);
  const host::Offer offer = choose_offer(config.offer, file);
  if (offer != host::Offer::kNamespace) return offer;
  const offer::Tree tree = offer::make_tree(host::devices_of(config), offer::look_around());
  if (config.offer == host::Offer::kAuto && !offer::try_namespace(tree).empty()) {
    return host::Offer::kPreload;  // which does a static program no good, and no harm
  }
  const std::string why = offer::enter_namespace(tree);
  if (why.empty()) return offer;
  fmt::print(stderr, "nerve run: --offer namespace: {}; `nerve doctor` tells more\n", why);
  return std::nullopt;
}

// Returns only when it failed: with what a shell would exit with.
int become(const std::string& file, const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  (void)std::fflush(nullptr);
  ::execvp(file.c_str(), arguments.data());  // like a shell: a script needs no first line
  const int why = errno;
  fmt::print(stderr, "nerve run: {}: {}; {}\n", command[0], std::strerror(why),
             why == ENOENT ? "check the path, and the interpreter that it names"
                           : "check that it is a program and may be executed");
  return why == ENOENT ? kExitNotFound : kExitCannotRun;
}

// Warns of devices whose interface does not exist: it may come later. False when none of them
// exists, because the program would find no device at all.
bool check_interfaces(const std::vector<host::DeviceName>& devices) {
  const std::vector<host::Interface> there = host::list_interfaces();
  std::size_t absent = 0;
  for (const host::DeviceName& device : devices) {
    if (std::ranges::find(there, device.interface, &host::Interface::name) != there.end()) continue;
    ++absent;
    fmt::print(stderr, "nerve run: {}={}: no such interface; `ip link` lists them\n", device.name,
               device.interface);
  }
  return absent == 0 || absent < devices.size();
}

int run(const RunOptions& options) {
  const auto variables = chosen(options);
  if (!variables) return kExitUsage;
  if (!check_interfaces(configured(*variables).devices)) return kExitUsage;
  const std::string program = this_program().string();
  const auto folder = find_library_folder(program);
  if (!folder) {
    fmt::print(stderr, "nerve run: no libibverbs.so.1 beside {}; build it with: ./nerve build\n",
               program);
    return kExitCannotRun;
  }
  const char* path = std::getenv("PATH");
  const std::string file = find_command(options.command[0], path != nullptr ? path : "/usr/bin");
  if (file.empty()) {
    const std::string_view package = package_of(options.command[0]);
    fmt::print(stderr, "nerve run: {}: not found in PATH; {}\n", options.command[0],
               package.empty() ? "check the name, or install its package"
                               : fmt::format("sudo apt-get install -y {}", package));
    return kExitNotFound;
  }
  if (const auto why = ignores_library_path(file)) {
    fmt::print(stderr,
               "nerve run: {}: {}, so the loader ignores LD_LIBRARY_PATH and it will not use "
               "nerve; run a copy of it without that right\n",
               file, *why);
  }
  if (const auto pcap = variables->find("NERVE_PCAP"); pcap != variables->end()) {
    if (const std::string why = host::start_capture(pcap->second); !why.empty()) {
      fmt::print(stderr, "nerve run: {}\n", why);
      return kExitUsage;
    }
  }
  const auto offer = make_offer(*variables, file);
  if (!offer) return kExitCannotRun;
  const auto changes = run_environment(*variables, *folder, *offer, host::process_environment());
  for (const auto& [name, value] : changes) ::setenv(name.c_str(), value.c_str(), 1);
  return become(file, options.command);
}

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

void add_run(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command =
      program.add_subcommand("run", "Run a program with nerve's libibverbs: nerve run -- CMD...");
  command->add_option("CMD", options->command, "the program and its arguments")->required();
  options->values.resize(host::settings().size());
  for (std::size_t i = 0; i < options->values.size(); ++i) {
    add_setting(*command, host::settings()[i], options->values[i]);
  }
  command->footer(kRunFooter);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace nerve::cli
