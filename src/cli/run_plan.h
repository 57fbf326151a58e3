// What `nerve run` is about to do, worked out before anything is done: the program, and the
// environment in which it finds our libibverbs and its settings.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace nerve::cli {

// The arguments of `nerve`, with `--` put before the program that `run` is to start, where the user
// left it out: the options after the program's name are its own.
[[nodiscard]] std::vector<std::string> mark_command(std::vector<std::string> arguments);

// The folder of libibverbs.so.1 that belongs to the `nerve` at this path: ../../lib in a build
// tree, ../lib/nerve where it is installed.
[[nodiscard]] std::optional<std::string> find_library_folder(const std::string& program);

// The file that a shell would run for this word; empty when there is none.
[[nodiscard]] std::string find_command(const std::string& word, const std::string& path);

// The way that `auto` stands for: preload, but for a program that has no loader.
[[nodiscard]] host::Offer choose_offer(host::Offer wanted, const std::string& file);

// Variables to set: the settings, by variable; LD_LIBRARY_PATH with the folder put first; and, so
// that the program finds the paths that it looks for, NERVE_OFFER and LD_PRELOAD with our library
// put last, for others that are there may insist on being first.
[[nodiscard]] host::Environment run_environment(const std::map<std::string, std::string>& settings,
                                                const std::string& library_folder,
                                                host::Offer offer, const host::Environment& now);

// Whether the loader will ignore LD_LIBRARY_PATH for this file, and why.
[[nodiscard]] std::optional<std::string> ignores_library_path(const std::string& file);

}  // namespace nerve::cli
