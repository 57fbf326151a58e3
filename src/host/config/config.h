// The user's configuration: read from a file, then from NERVE_ variables, which override the file.
//
// settings.h lists the settings. A mistake never stops a program that happens to use the library:
// it is reported with its place, and the setting keeps its previous value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/devices/device.h"
#include "host/seal/policy.h"
#include "host/seal/suites.h"
#include "nic/config.h"
#include "wire/frame.h"

namespace nerve::host {

enum class Transport : std::uint8_t { kAuto, kShm, kUdp };
enum class LogLevel : std::uint8_t { kError, kWarn, kInfo, kDebug };
// What a poll of an empty CQ does.
enum class PollWait : std::uint8_t { kAuto, kSpin, kSleep };
enum class Offloads : std::uint8_t { kOff, kOn };
// How `nerve run` shows a program the paths under /sys and /dev where it looks for devices.
enum class Offer : std::uint8_t { kAuto, kPreload, kNamespace, kOff };
enum class CaptureDirection : std::uint8_t { kSent, kBoth };

struct Config {
  Transport transport{Transport::kAuto};
  std::vector<DeviceName> devices;  // empty: all interfaces with an address
  std::uint16_t port{wire::kRocePort};
  std::string pcap;  // file name; empty: no capture
  CaptureDirection pcap_direction{CaptureDirection::kSent};
  std::uint32_t pcap_snap{0x4'0000};
  std::uint64_t pcap_limit{};          // packets; zero: no limit
  std::string fault;                   // validated text for link/tap/fault_spec.h
  std::string trace_folder;            // empty: no trace
  std::uint64_t trace_messages{1000};  // of each QP, in each direction
  std::uint64_t ring_size{std::uint64_t{1} << 19};
  std::optional<nic::Mtu> mtu;  // none: derived from the interface
  PollWait polling{PollWait::kAuto};
  std::optional<std::uint32_t> shards;  // none: one for every two CPUs
  Offloads offloads{Offloads::kOn};
  nic::CcAlgorithm congestion{nic::CcAlgorithm::kNone};
  std::string policy;  // file name, for learned congestion control; empty: the shipped policy
  std::uint64_t socket_buffer{std::uint64_t{16} << 20};
  SealPolicy seal;
  std::string seal_key;      // file name; empty: none
  std::string seal_key_log;  // file name; empty: keys are not written
  std::vector<seal::Suite> seal_suites{default_suites()};
  bool gpu_direct{};      // NCCL may use GPU memory
  bool gpu_copier{true};  // a process of ours copies it
  Offer offer{Offer::kAuto};
  std::string controller;      // of paths, HOST:PORT; empty: none
  std::string controller_key;  // file name; empty: none
  LogLevel log{LogLevel::kWarn};
  bool summary{};
  friend bool operator==(const Config&, const Config&) = default;
};

using Environment = std::map<std::string, std::string>;

struct LoadedConfig {
  Config config;
  std::string file;                   // the file that was read; empty if none
  std::vector<std::string> problems;  // one sentence each
};

[[nodiscard]] LoadedConfig load_config(const Environment& environment);

// The variables of this process. Empty in a set-user-ID program: its caller must not choose which
// files it writes.
[[nodiscard]] Environment process_environment();

// Loads the configuration of this process. Problems are printed to stderr the first time.
[[nodiscard]] Config load_process_config();

}  // namespace nerve::host
