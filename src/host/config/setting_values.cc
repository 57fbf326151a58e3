#include "host/config/setting_values.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace nerve::host {
namespace {

constexpr std::size_t kLongestDevice = 63;     // the longest name that fits in ibv_device::name
constexpr std::size_t kLongestInterface = 15;  // the limit of Linux

bool is_device_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestDevice && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

// Linux allows almost any character in a name. A misspelt name is found later, when it is not in
// the list of interfaces.
bool is_interface_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestInterface && std::ranges::all_of(name, [](char c) {
    return c > ' ' && c != '/' && c != '=' && c != 0x7f;
  });
}

}  // namespace

std::optional<bool> parse_switch(std::string_view text) {
  for (const std::string_view yes : {"on", "yes", "true", "1"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"off", "no", "false", "0"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_count(std::string_view text, std::uint64_t least,
                                         std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < least || value > most) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text, std::uint64_t least,
                                        std::uint64_t most) {
  unsigned shift = 0;
  if (!text.empty()) {
    const std::size_t unit = std::string_view{"KMG"}.find(text.back());
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      text.remove_suffix(1);
    }
  }
  const auto value = parse_count(text, 0, most >> shift);
  if (!value || *value << shift < least) return std::nullopt;
  return *value << shift;
}

std::optional<std::vector<DeviceName>> parse_devices(std::string_view text) {
  std::vector<DeviceName> devices;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view one = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const std::size_t equals = one.find('=');
    DeviceName device;
    if (equals == std::string_view::npos) {
      device = {.name = "nerve" + std::to_string(devices.size()), .interface = std::string{one}};
    } else {
      device = {.name = std::string{one.substr(0, equals)},
                .interface = std::string{one.substr(equals + 1)}};
    }
    if (!is_device_name(device.name) || !is_interface_name(device.interface)) return std::nullopt;
    if (std::ranges::find(devices, device.name, &DeviceName::name) != devices.end()) {
      return std::nullopt;
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace nerve::host
