#include "host/config/config.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <string_view>
#include <utility>

#include "host/config/config_file.h"
#include "host/config/settings.h"

namespace nerve::host {
namespace {

std::string all_names(std::string_view Setting::*member) {
  std::string names;
  for (const Setting& setting : settings()) {
    names += (names.empty() ? "" : ", ") + std::string{setting.*member};
  }
  return names;
}

void complain(LoadedConfig& loaded, std::string place, std::string_view what) {
  place += what;
  loaded.problems.push_back(std::move(place));
}

std::string value_of(const Environment& environment, const char* name) {
  const auto it = environment.find(name);
  return it != environment.end() ? it->second : "";
}

// The file to read if NERVE_CONFIG is not set.
std::string default_file(const Environment& environment) {
  const std::string folder = value_of(environment, "XDG_CONFIG_HOME");
  if (!folder.empty()) return folder + "/nerve/nerve.toml";
  const std::string home = value_of(environment, "HOME");
  return home.empty() ? "" : home + "/.config/nerve/nerve.toml";
}

void load_file(const Environment& environment, LoadedConfig& loaded) {
  const std::string named = value_of(environment, "NERVE_CONFIG");
  const std::string path = named.empty() ? default_file(environment) : named;
  if (path.empty()) return;
  const ConfigFile file = read_config_file(path);
  if (!file.found && named.empty()) return;
  if (file.found) loaded.file = path;
  for (const std::string& problem : file.problems) {
    loaded.problems.push_back((file.found ? "" : "NERVE_CONFIG: ") + problem);
  }
  for (const FileEntry& entry : file.entries) {
    const std::string place = path + ":" + std::to_string(entry.line);
    const Setting* setting = find_setting(entry.key);
    if (setting == nullptr) {
      loaded.problems.push_back(place + ": no setting is called '" + entry.key + "'; there are " +
                                all_names(&Setting::key));
    } else if (const auto why = apply(*setting, entry.value, loaded.config); !why.empty()) {
      complain(loaded, place + ": " + entry.key + " = ", why);
    }
  }
}

void load_variables(const Environment& environment, LoadedConfig& loaded) {
  for (auto it = environment.lower_bound("NERVE_");
       it != environment.end() && it->first.starts_with("NERVE_"); ++it) {
    const auto& [name, value] = *it;
    const Setting* setting = find_variable(name);
    if (setting == nullptr) {
      if (is_other_variable(name)) continue;
      complain(loaded, name + ": no such variable; there are ", all_names(&Setting::variable));
    } else if (value.empty()) {
      continue;  // the same as unset
    } else if (const auto why = apply(*setting, value, loaded.config); !why.empty()) {
      complain(loaded, name + "=", why);
    }
  }
}

}  // namespace

LoadedConfig load_config(const Environment& environment) {
  LoadedConfig loaded;
  load_file(environment, loaded);
  load_variables(environment, loaded);
  return loaded;
}

Environment process_environment() {
  Environment environment;
  if (::getauxval(AT_SECURE) != 0) return environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment;
}

Config load_process_config() {
  static std::atomic<bool> reported{};
  const LoadedConfig loaded = load_config(process_environment());
  if (!loaded.problems.empty() && !reported.exchange(true)) {
    std::string lines;
    for (const std::string& problem : loaded.problems) {
      lines += "nerve: " + problem + "; ignored\n";
    }
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, lines.data(), lines.size());
  }
  return loaded.config;
}

}  // namespace nerve::host
