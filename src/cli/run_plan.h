// Plans a `nerve run`: finds the program, and computes the environment in which it finds our
// libibverbs and its settings.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace nerve::cli {

// The arguments of `nerve`, with `--` inserted before the program of `run` or `trace` if the user
// left it out: options after the program's name are the program's.
[[nodiscard]] std::vector<std::string> mark_command(std::vector<std::string> arguments);

// The folder of the libibverbs.so.1 that belongs to the `nerve` at this path: ../../lib in a build
// tree, ../lib/nerve when installed.
[[nodiscard]] std::optional<std::string> find_library_folder(const std::string& program);

// The file that a shell would run for this word; empty if there is none.
[[nodiscard]] std::string find_command(const std::string& word, const std::string& path);

// An installed program whose name `word` seems to misspell; empty if there is none.
[[nodiscard]] std::string nearest_command(const std::string& word, const std::string& path);

// Resolves `auto`: preload, or a namespace for a statically linked program.
[[nodiscard]] host::Offer choose_offer(host::Offer wanted, const std::string& file);

// Variables to set: the settings; LD_LIBRARY_PATH with the folder prepended; and, so that the
// program finds the paths it looks for, NERVE_OFFER and LD_PRELOAD with our library appended,
// because other preloaded libraries may need to be first.
[[nodiscard]] host::Environment run_environment(const std::map<std::string, std::string>& settings,
                                                const std::string& library_folder,
                                                host::Offer offer, const host::Environment& now);

// The reason why the loader will ignore LD_LIBRARY_PATH for this file, if it will.
[[nodiscard]] std::optional<std::string> ignores_library_path(const std::string& file);

}  // namespace nerve::cli
