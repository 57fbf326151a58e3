#include "controller/settings_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <initializer_list>

#include "base/toml.h"
#include "controller/address.h"

namespace nerve::controller {
namespace {

constexpr std::size_t kMaxEntries = 65'536;  // of a list

std::string names_of(std::initializer_list<std::string_view> keys) {
  std::string text;
  for (const std::string_view key : keys) text += (text.empty() ? "" : ", ") + std::string{key};
  return text;
}

class SettingsReader {
 public:
  explicit SettingsReader(const std::string& file) : file_{file} {}

  [[nodiscard]] const std::string& problem() const { return problem_; }

  PlannerSettings read(const toml::table& root) {
    PlannerSettings settings;
    only(root, "", {"nic_rate", "link", "class"});
    if (root.contains("nic_rate")) settings.nic_rate = rate(root, "", "nic_rate");
    each(root, "link", [&](const toml::table& table) {
      only(table, "link.", {"between", "rate"});
      settings.links.push_back({.between = ends(table), .rate = rate(table, "link.", "rate")});
    });
    each(root, "class", [&](const toml::table& table) {
      only(table, "class.", {"traffic_class", "rate_limit"});
      const std::uint8_t traffic_class = class_of(table);
      const bool is_new =
          settings.rate_limits
              .emplace(traffic_class, rate(table, "class.", "rate_limit").bits_per_second())
              .second;
      if (!is_new) {
        fail(table, "class.traffic_class", fmt::format("{} has a limit already", traffic_class));
      }
    });
    return settings;
  }

 private:
  void fail(const toml::node& node, std::string_view key, std::string_view why) {
    if (!problem_.empty()) return;
    problem_ = fmt::format("{}:{}: {}: {}", file_, node.source().begin.line, key, why);
  }

  void only(const toml::table& table, std::string_view path,
            std::initializer_list<std::string_view> known) {
    for (const auto& [key, node] : table) {
      if (std::ranges::find(known, key.str()) != known.end()) continue;
      fail(node, fmt::format("{}{}", path, key.str()),
           fmt::format("is not a key; known are {}", names_of(known)));
    }
  }

  template <class Read>
  void each(const toml::table& root, std::string_view key, const Read& read) {
    const toml::node* const node = root.get(key);
    if (node == nullptr) return;
    const toml::array* const list = node->as_array();
    if (list == nullptr || list->size() > kMaxEntries) {
      fail(*node, key, fmt::format("write [[{}]], at most {} times", key, kMaxEntries));
      return;
    }
    for (const toml::node& one : *list) {
      const toml::table* const table = one.as_table();
      if (table == nullptr) return fail(one, key, fmt::format("write [[{}]]", key));
      read(*table);
    }
  }

  Rate rate(const toml::table& table, std::string_view path, std::string_view key) {
    const toml::node* const node = table.get(key);
    const std::string name = fmt::format("{}{}", path, key);
    if (node == nullptr) {
      fail(table, name, R"(is missing; write a rate, like "100 Gb/s")");
      return {};
    }
    const auto* const text = node->as_string();
    const auto read = text == nullptr ? std::nullopt : parse_rate(text->get());
    if (!read || *read == Rate{}) fail(*node, name, R"(write a rate, like "100 Gb/s")");
    return read.value_or(Rate{});
  }

  Link ends(const toml::table& table) {
    constexpr const char* kWanted = R"(write two addresses, like ["10.1.0.2", "10.2.0.1"])";
    const toml::node* const node = table.get("between");
    const toml::array* const list = node == nullptr ? nullptr : node->as_array();
    if (list == nullptr || list->size() != 2) {
      fail(node == nullptr ? static_cast<const toml::node&>(table) : *node, "link.between",
           kWanted);
      return {};
    }
    wire::Gid gids[2];
    for (std::size_t i = 0; i < 2; ++i) {
      const auto* const text = list->get(i)->as_string();
      const auto gid = text == nullptr ? std::nullopt : parse_address(text->get());
      if (!gid) fail(*list->get(i), "link.between", kWanted);
      gids[i] = gid.value_or(wire::Gid{});
    }
    return {.from = gids[0], .to = gids[1]};
  }

  std::uint8_t class_of(const toml::table& table) {
    const toml::node* const node = table.get("traffic_class");
    const auto* const number = node == nullptr ? nullptr : node->as_integer();
    if (number == nullptr || number->get() < 0 || number->get() > 0xff) {
      fail(node == nullptr ? static_cast<const toml::node&>(table) : *node, "class.traffic_class",
           "write a number from 0 to 255");
      return 0;
    }
    return static_cast<std::uint8_t>(number->get());
  }

  const std::string& file_;
  std::string problem_;
};

}  // namespace

std::optional<Rate> parse_rate(std::string_view text) {
  struct Unit {
    std::string_view name;
    double worth;
  };
  constexpr Unit kUnits[] = {
      {"b/s", 1}, {"Kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}};
  constexpr double kFastest = 1e18;
  double number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view unit{end, static_cast<std::size_t>(last - end)};
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& known : kUnits) {
    if (unit != known.name || number * known.worth > kFastest) continue;
    return Rate::bits_per_second(static_cast<std::uint64_t>(number * known.worth));
  }
  return std::nullopt;
}

Result<PlannerSettings, std::string> read_settings(std::string_view text, const std::string& file) {
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return Unexpected{
        fmt::format("{}:{}: not TOML: {}", file, error.source().begin.line, error.description())};
  }
  SettingsReader reader{file};
  PlannerSettings settings = reader.read(parsed.table());
  if (!reader.problem().empty()) return Unexpected{reader.problem()};
  return settings;
}

}  // namespace nerve::controller
