// What a user chose: read from a file, then from NERVE_ variables, the later word winning.
//
// settings.h lists what there is to choose. A mistake never stops a program that happens to use the
// library: it is told, with the place where it was made, and what was there before stays.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/devices/device.h"
#include "nic/config.h"
#include "wire/frame.h"

namespace nerve::host {

enum class Transport : std::uint8_t { kAuto, kShm, kUdp };
enum class LogLevel : std::uint8_t { kError, kWarn, kInfo, kDebug };
// What a poll that finds nothing does.
enum class PollWait : std::uint8_t { kAuto, kSpin, kSleep };
enum class Offloads : std::uint8_t { kOff, kOn };
// How `nerve run` shows a program the paths at which it looks for devices.
enum class Offer : std::uint8_t { kAuto, kPreload, kNamespace, kOff };
enum class CaptureDirection : std::uint8_t { kSent, kBoth };

struct Config {
  Transport transport{Transport::kAuto};
  std::vector<DeviceName> devices;  // empty: what the machine offers
  std::uint16_t port{wire::kRocePort};
  std::string pcap;  // a file; empty for none
  CaptureDirection pcap_direction{CaptureDirection::kSent};
  std::uint32_t pcap_snap{0x4'0000};
  std::uint64_t pcap_limit{};  // zero: none
  std::string fault;           // as link/tap/fault_spec.h reads it, and known to be right
  std::uint64_t ring_size{std::uint64_t{1} << 19};
  std::optional<nic::Mtu> mtu;  // none: what the interface carries
  PollWait polling{PollWait::kAuto};
  std::optional<std::uint32_t> shards;  // none: one for every two CPUs
  Offloads offloads{Offloads::kOn};
  nic::CcAlgorithm congestion{nic::CcAlgorithm::kNone};
  std::uint64_t socket_buffer{std::uint64_t{16} << 20};
  Offer offer{Offer::kAuto};
  LogLevel log{LogLevel::kWarn};
  bool summary{};
  friend bool operator==(const Config&, const Config&) = default;
};

using Environment = std::map<std::string, std::string>;

struct LoadedConfig {
  Config config;
  std::string file;                   // that was read; empty for none
  std::vector<std::string> problems;  // a sentence each
};

[[nodiscard]] LoadedConfig load_config(const Environment& environment);

// The variables of this process. None in a program that runs with rights its caller lacks: it must
// not be told by the caller which files to write.
[[nodiscard]] Environment process_environment();

// For this process. What is wrong is printed to stderr, the first time.
[[nodiscard]] Config load_process_config();

}  // namespace nerve::host
