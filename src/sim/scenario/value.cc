#include "sim/scenario/value.h"

#include <cmath>
#include <filesystem>

#include "base/nearest.h"
#include "sim/scenario/units.h"

namespace nerve::sim::scenario_file {
namespace {

std::string list_of(std::span<const std::string_view> all) {
  std::string list;
  for (const std::string_view word : all) (list += list.empty() ? "" : ", ") += word;
  return list;
}

std::string range_of(const std::string& what, const std::string& least, const std::string& most) {
  return what + " from " + least + " to " + most;
}

constexpr std::string_view kRateUnits = R"("400 Gb/s" or "12.5 GB/s")";
constexpr std::string_view kTimeUnits = R"("1 us" or "2.5 ms")";
constexpr std::string_view kSizeUnits = R"("64 MB" or "4 KiB")";
constexpr std::string_view kPowerUnits = R"("700 W" or "1.5 MW")";

}  // namespace

void Errors::add(const Node& where, std::string key, std::string message) {
  if (errors_.size() >= kMost) return;
  errors_.push_back({where.overridden ? "command line" : file_, where.line, where.column,
                     std::move(key), std::move(message)});
}

std::string not_known(std::string_view word, std::span<const std::string_view> all) {
  constexpr std::size_t kLongest = 60;  // compare no more than this
  std::string text = "\"" + std::string{word.substr(0, kLongest)} + "\" is not known; ";
  const std::string_view nearest =
      word.size() <= kLongest ? nearest_name(word, all) : std::string_view{};
  if (!nearest.empty()) (((text += "did you mean \"") += nearest) += "\"? ");
  return text + (nearest.empty() ? "use one of " + list_of(all) : "(" + list_of(all) + ")");
}

void Value::describe(std::string takes, std::string fallback) {
  words_->takes = std::move(takes);
  words_->fallback = std::move(fallback);
}

void Value::wrong(std::string message) {
  if (!describes()) errors_->add(*node_, key_, std::move(message));
}

void Value::refuse(const std::string& takes) { wrong(shown(*node_) + " is not " + takes); }

void Value::text(std::string& where) {
  constexpr std::size_t kMost = 2000;
  if (describes()) return describe("text", where);
  if (node_->type != NodeType::kText) return refuse("text; put it in quotes");
  if (node_->text.size() > kMost) return wrong("the text is longer than 2000 bytes");
  where = node_->text;
}

void Value::file(std::string& where) {
  if (describes()) return describe("a file name, relative to the scenario", where);
  std::string name;
  text(name);
  if (name.empty()) return;
  if (name.find('\0') != std::string::npos) return refuse("the name of a file");
  where = (std::filesystem::path{errors_->file()}.parent_path() / name).string();
}

void Value::on_off(bool& where) {
  if (describes()) return describe("true or false", where ? "true" : "false");
  if (node_->type != NodeType::kSwitch) return refuse("true or false (without quotes)");
  where = node_->on;
}

void Value::number(double& where, double least, double most) {
  const std::string takes = range_of("a number", number_text(least), number_text(most));
  if (describes()) return describe(takes, number_text(where));
  double value = 0;
  if (node_->type == NodeType::kInteger) {
    value = static_cast<double>(node_->integer);
  } else if (node_->type == NodeType::kNumber) {
    value = node_->number;
  } else {
    return refuse(takes);
  }
  if (!(value >= least && value <= most)) return refuse(takes);  // also rejects NaN
  where = value;
}

void Value::parts(std::uint32_t& where, std::uint32_t parts_of_one, double least, double most) {
  double value = static_cast<double>(where) / parts_of_one;
  number(value, least, most);
  if (!describes()) where = static_cast<std::uint32_t>(std::llround(value * parts_of_one));
}

void Value::any_count(std::uint64_t& where, std::uint64_t least, std::uint64_t most) {
  const std::string takes = range_of("a whole number", std::to_string(least), std::to_string(most));
  if (describes()) return describe(takes, std::to_string(where));
  std::uint64_t value = 0;
  if (node_->type == NodeType::kInteger && node_->integer >= 0) {
    value = static_cast<std::uint64_t>(node_->integer);
  } else if (node_->type == NodeType::kNumber && node_->number >= 0 && node_->number <= 1e15 &&
             std::trunc(node_->number) == node_->number) {
    value = static_cast<std::uint64_t>(node_->number);  // 1e6
  } else {
    return refuse(takes);
  }
  if (value < least || value > most) return refuse(takes);
  where = value;
}

void Value::count_among(std::uint32_t& where, std::span<const std::uint32_t> all) {
  std::string takes;
  for (const std::uint32_t one : all) {
    takes += (takes.empty() ? "" : one == all.back() ? " or " : ", ") + std::to_string(one);
  }
  if (describes()) return describe(takes, std::to_string(where));
  if (node_->type == NodeType::kInteger) {
    for (const std::uint32_t one : all) {
      if (node_->integer != one) continue;
      where = one;
      return;
    }
  }
  refuse(takes);
}

std::string_view Value::amount(const std::string& takes, std::string_view example) {
  if (node_->type == NodeType::kText && !node_->text.empty()) return node_->text;
  const bool bare = node_->type == NodeType::kInteger || node_->type == NodeType::kNumber;
  wrong(shown(*node_) + (bare ? " has no unit; write " : " is not " + takes + "; write ") +
        std::string{example});
  return {};
}

void Value::any_rate(Rate& where, Rate least) {
  const bool may_be_zero = least == Rate{};
  const std::string takes = range_of("a rate", rate_text(kLeastRate), rate_text(kMostRate)) +
                            (may_be_zero ? ", or 0" : "");
  if (describes()) return describe(takes, where == Rate{} ? "0" : rate_text(where));
  if (may_be_zero && node_->type == NodeType::kInteger && node_->integer == 0) {
    where = Rate{};
    return;
  }
  const std::string_view text = amount(takes, kRateUnits);
  if (text.empty()) return;
  const auto rate = parse_rate(text);
  if (!rate) return wrong(shown(*node_) + " is not a rate; write " + std::string{kRateUnits});
  const bool zero = may_be_zero && *rate == Rate{};
  if (!zero && (*rate < kLeastRate || *rate > kMostRate)) return refuse(takes);
  where = *rate;
}

void Value::time(Duration& where, Duration least, Duration most) {
  const std::string takes = range_of("a time", time_text(least), time_text(most));
  if (describes()) return describe(takes, time_text(where));
  const std::string_view text = amount(takes, kTimeUnits);
  if (text.empty()) return;
  const auto time = parse_time(text);
  if (!time) return wrong(shown(*node_) + " is not a time; write " + std::string{kTimeUnits});
  if (*time < least || *time > most) return refuse(takes);
  where = *time;
}

void Value::power(double& watts, double least, double most) {
  const std::string takes = range_of("a power", power_text(least), power_text(most));
  if (describes()) return describe(takes, power_text(watts));
  const std::string_view text = amount(takes, kPowerUnits);
  if (text.empty()) return;
  const auto power = parse_power(text);
  if (!power) return wrong(shown(*node_) + " is not a power; write " + std::string{kPowerUnits});
  if (*power < least || *power > most) return refuse(takes);
  watts = *power;
}

std::size_t Value::elements() {
  constexpr std::size_t kMost = 64;
  if (node_->type != NodeType::kList) return 1;
  const std::size_t count = node_->children.size();
  if (count > 0 && count <= kMost) return count;
  wrong(count == 0
            ? "the list is empty; leave the key out, or write at least one value"
            : "a list of " + std::to_string(count) + " values; at most " + std::to_string(kMost));
  return 0;
}

const Node& Value::element(std::size_t i) const {
  return node_->type == NodeType::kList ? node_->children[i] : *node_;
}

void Value::bytes(std::uint64_t& where, std::uint64_t least, std::uint64_t most) {
  const std::string takes = range_of("a size", bytes_text(least), bytes_text(most));
  if (describes()) return describe(takes, bytes_text(where));
  const std::string_view text = amount(takes, kSizeUnits);
  if (text.empty()) return;
  const auto bytes = parse_bytes(text);
  if (!bytes) return wrong(shown(*node_) + " is not a size; write " + std::string{kSizeUnits});
  if (*bytes < least || *bytes > most) return refuse(takes);
  where = *bytes;
}

void Value::bytes(std::uint32_t& where, std::uint32_t least, std::uint32_t most) {
  std::uint64_t value = where;
  bytes(value, least, most);
  where = static_cast<std::uint32_t>(value);
}

std::size_t Value::any_word(std::span<const std::string_view> all, std::size_t chosen) {
  if (describes()) {
    describe(list_of(all), std::string{all[chosen]});
    return chosen;
  }
  if (node_->type != NodeType::kText) {
    refuse("one of " + list_of(all));
    return chosen;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == node_->text) return i;
  }
  wrong(not_known(node_->text, all));
  return chosen;
}

}  // namespace nerve::sim::scenario_file
