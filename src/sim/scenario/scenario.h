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
  kDown,    // both directions; packets on it are lost, switches reroute after `reroute`
  kUp,      // restored to its original state
  kRate,    // slower, both directions
  kErrors,  // bit errors
  kStorm,   // a NIC (`from`) that pauses its switch continuously, for `lasts`
};

struct FaultSpec {
  Duration at{};
  FaultKind kind{};
  std::string from;  // the two nodes at the ends of the cable: leaf0, spine1, nic12
  std::string to;
  Rate rate{};                                     // kRate
  double bit_error_rate{};                         // kErrors: probability per bit
  Duration reroute{std::chrono::milliseconds{1}};  // delay until the switches reroute
  Duration lasts{};                                // kStorm; zero: to the end of the run
};

struct OutputSpec {
  Duration sample_every{};      // zero: about 1/1000 of the run
  std::uint32_t top_ports{16};  // number of ports whose queue length is recorded
};

enum class Fidelity : std::uint8_t {
  kPacket,
  kFlow,  // messages are flows with fair rates: no packets, queues or losses
};

struct Scenario {
  std::string name;
  std::string description;
  std::uint64_t seed{1};
  Fidelity fidelity{};
  Duration until{std::chrono::seconds{10}};  // simulated time limit
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
