// A scenario: everything that a run depends on. Plain values; scenario_file.h reads them from TOML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/host_spec.h"
#include "sim/scenario/job_spec.h"
#include "sim/scenario/network_spec.h"

namespace nerve::sim {

enum class FaultKind : std::uint8_t {
  kDown,    // both directions; packets on it are lost, routes are found anew after `reroute`
  kUp,      // as it was built
  kRate,    // slower, both directions
  kErrors,  // of bits
  kStorm,   // a NIC (`from`) that pauses its switch all the time, for `lasts`
};

struct FaultSpec {
  Duration at{};
  FaultKind kind{};
  std::string from;  // the cable between these two nodes, by name: leaf0, spine1, nic12
  std::string to;
  Rate rate{};                                     // kRate
  double bit_error_rate{};                         // kErrors: 1e-9 is one in a thousand million
  Duration reroute{std::chrono::milliseconds{1}};  // until switches know
  Duration lasts{};                                // kStorm; zero: to the end
};

struct OutputSpec {
  Duration sample_every{};      // zero: a thousandth of what the run seems to take
  std::uint32_t top_ports{16};  // whose queue is kept over time
};

struct Scenario {
  std::string name;
  std::string description;
  std::uint64_t seed{1};
  Duration until{std::chrono::seconds{10}};  // jobs that take longer are given up
  NetworkSpec back_end{};
  std::optional<NetworkSpec> front_end;
  ServerSpec servers{};
  std::optional<StorageSpec> storage;
  NicSpec nics{};
  NicSpec front_end_nics{};
  TcpSpec tcp{};
  std::vector<JobSpec> jobs;
  std::vector<FaultSpec> faults;
  OutputSpec output{};
};

}  // namespace nerve::sim
