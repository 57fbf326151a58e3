#include "tests/bad_days/peer/options.h"

#include <charconv>
#include <cstdio>
#include <limits>
#include <string_view>
#include <system_error>

namespace bad_days {
namespace {

template <typename Number>
bool read(std::string_view text, Number& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && stop == end;
}

bool apply(Options& options, std::string_view name, std::string_view value) {
  if (name == "seed") return read(value, options.seed);
  if (name == "rounds") return read(value, options.rounds);
  if (name == "largest") return read(value, options.largest) && options.largest > 0;
  if (name == "window") return read(value, options.window) && options.window - 1 < 64;
  if (name == "timeout") return read(value, options.timeout) && options.timeout < 32;
  if (name == "retry") return read(value, options.retry_count) && options.retry_count < 8;
  if (name == "patience_ms") return read(value, options.patience_ms);
  if (name == "ask_ms") return read(value, options.ask_ms);
  if (name == "pause_us") return read(value, options.pause_us);
  if (name != "wait" || (value != "poll" && value != "event")) return false;
  options.wait = value == "poll" ? Wait::kPoll : Wait::kEvent;
  return true;
}

}  // namespace

std::optional<Options> parse_options(std::span<char*> arguments) {
  Options options;
  const std::string_view role = arguments.empty() ? "" : arguments[0];
  if (arguments.size() < 2 || (role != "lead" && role != "follow") ||
      !read(arguments[1], options.channel)) {
    std::fprintf(stderr, "usage: verbs_peer lead|follow FD [name=value]...\n");
    return std::nullopt;
  }
  options.role = role == "lead" ? Role::kLead : Role::kFollow;
  for (const std::string_view argument : arguments.subspan(2)) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string_view::npos ||
        !apply(options, argument.substr(0, equals), argument.substr(equals + 1))) {
      std::fprintf(stderr, "verbs_peer: what is '%.*s'?\n", static_cast<int>(argument.size()),
                   argument.data());
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace bad_days
