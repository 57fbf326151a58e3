// The list of all settings: file key, variable, flag, default and help are written here and nowhere
// else. Loading, `nerve run`, its help and docs/configuration.md all go by it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "host/config/config.h"

namespace nerve::host {

struct Setting {
  std::string_view key;       // in the file: ring_size
  std::string_view variable;  // NERVE_RING_SIZE
  std::string_view flag;      // of `nerve run`: --ring-size
  std::string_view value;     // a word for it in help: SIZE; empty for a switch
  std::string_view fallback;  // what it is when nobody says
  std::string_view allowed;   // what it may be, as "takes ..." goes on
  std::string_view help;
  bool (*read)(std::string_view text, Config& config);  // false, and nothing changed: refused
  // A better reason than `allowed` for a text that was refused; none for most.
  std::string (*explain)(std::string_view text){};
};

[[nodiscard]] std::span<const Setting> settings();
[[nodiscard]] const Setting* find_setting(std::string_view key);
[[nodiscard]] const Setting* find_variable(std::string_view variable);

// Puts the value into the configuration; or tells what is wrong with it, without the place.
[[nodiscard]] std::string apply(const Setting& setting, std::string_view text, Config& config);

// Variables that begin with NERVE_ and are no settings: they belong to ./nerve and to the tests.
[[nodiscard]] bool is_other_variable(std::string_view variable);

}  // namespace nerve::host
