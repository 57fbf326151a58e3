// The table of all settings: file key, variable, flag, default and help text. Loading, `nerve run`,
// its help and docs/configuration.md are all derived from it.
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
  std::string_view value;     // placeholder in the help: SIZE; empty for a switch
  std::string_view fallback;  // the default, as text
  std::string_view allowed;   // completes the sentence "<key> takes ..."
  std::string_view help;
  // Returns false and leaves `config` unchanged if it refuses the text.
  bool (*read)(std::string_view text, Config& config);
  // Explains better than `allowed` why a text was refused; null for most settings.
  std::string (*explain)(std::string_view text){};
};

[[nodiscard]] std::span<const Setting> settings();
[[nodiscard]] const Setting* find_setting(std::string_view key);
[[nodiscard]] const Setting* find_variable(std::string_view variable);

// Stores the value in the configuration and returns an empty string; or returns what is wrong with
// it, without the place.
[[nodiscard]] std::string apply(const Setting& setting, std::string_view text, Config& config);

// Variables that begin with NERVE_ but are not settings: ./nerve and the tests use them.
[[nodiscard]] bool is_other_variable(std::string_view variable);

}  // namespace nerve::host
