// The tables of a scenario file and their keys.
#pragma once

#include <span>

#include "sim/scenario/key.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim::scenario_file {

// [fabric] and [front_end]
[[nodiscard]] std::span<const Key<NetworkSpec>> network_keys();
[[nodiscard]] std::span<const Key<BufferConfig>> buffer_keys();
[[nodiscard]] std::span<const Key<MarkingConfig>> ecn_keys();

[[nodiscard]] std::span<const Key<ServerSpec>> server_keys();
[[nodiscard]] std::span<const Key<StorageSpec>> storage_keys();

// [nic] and [front_end.nic]
[[nodiscard]] std::span<const Key<NicSpec>> nic_keys();
[[nodiscard]] std::span<const Key<NicHardwareSpec>> hardware_keys();
[[nodiscard]] std::span<const Key<AdmissionSpec>> admission_keys();
[[nodiscard]] std::span<const Key<nic::DcqcnParameters>> dcqcn_keys();
[[nodiscard]] std::span<const Key<nic::TimelyParameters>> timely_keys();
[[nodiscard]] std::span<const Key<nic::SwiftParameters>> swift_keys();
[[nodiscard]] std::span<const Key<nic::HpccParameters>> hpcc_keys();
[[nodiscard]] std::span<const Key<nic::NsccParameters>> nscc_keys();
[[nodiscard]] std::span<const Key<TcpSpec>> tcp_keys();

// [[job]]: the keys of every job, and those of some kinds. Kinds that share a key use the same
// name.
[[nodiscard]] std::span<const Key<JobSpec>> job_keys();
[[nodiscard]] std::span<const Key<FlowsSpec>> flows_keys();
[[nodiscard]] std::span<const Key<CollectiveSpec>> collective_keys();
[[nodiscard]] std::span<const Key<TrainingSpec>> training_keys();
[[nodiscard]] std::span<const Key<SimaiSpec>> simai_keys();
[[nodiscard]] std::span<const Key<ChakraSpec>> chakra_keys();
[[nodiscard]] std::span<const Key<ModelSpec>> model_keys();
[[nodiscard]] std::span<const Key<ParallelismSpec>> parallelism_keys();
[[nodiscard]] std::span<const Key<Straggler>> straggler_keys();

[[nodiscard]] std::span<const Key<Scenario>> top_keys();
[[nodiscard]] std::span<const Key<FaultSpec>> fault_keys();
[[nodiscard]] std::span<const Key<OutputSpec>> output_keys();

}  // namespace nerve::sim::scenario_file
