// The enumeration values of a scenario file and their names.
#pragma once

#include "sim/scenario/host_spec.h"
#include "sim/scenario/job_spec.h"
#include "sim/scenario/network_spec.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/value.h"

namespace nerve::sim::scenario_file {

inline constexpr Named<TopologyKind> kTopologies[] = {
    {"star", TopologyKind::kStar},
    {"dumbbell", TopologyKind::kDumbbell},
    {"leaf-spine", TopologyKind::kLeafSpine},
    {"fat-tree", TopologyKind::kFatTree},
    {"rail-optimised", TopologyKind::kRailOptimised},
    {"rail-only", TopologyKind::kRailOnly},
    {"dual-plane", TopologyKind::kDualPlane},
    {"dragonfly", TopologyKind::kDragonfly},
    {"file", TopologyKind::kFile},
};

inline constexpr Named<LinkKind> kLinks[] = {
    {"ethernet", LinkKind::kEthernet},
    {"infiniband", LinkKind::kInfiniBand},
    {"ethernet-credits", LinkKind::kEthernetCredits},
};

inline constexpr Named<PathChoice> kRoutings[] = {
    {"ecmp", PathChoice::kEcmp},       {"spray", PathChoice::kSpray},
    {"flowlet", PathChoice::kFlowlet}, {"adaptive", PathChoice::kAdaptive},
    {"valiant", PathChoice::kValiant}, {"controlled", PathChoice::kControlled},
};

inline constexpr Named<Transport> kTransports[] = {
    {"rdma", Transport::kRdma},
    {"tcp", Transport::kTcp},
};

inline constexpr Named<Recovery> kRecoveries[] = {
    {"go-back-n", Recovery::kGoBackN},
    {"selective-repeat", Recovery::kSelectiveRepeat},
};

inline constexpr Named<nic::CcAlgorithm> kCongestion[] = {
    {"none", nic::CcAlgorithm::kNone},     {"dcqcn", nic::CcAlgorithm::kDcqcn},
    {"timely", nic::CcAlgorithm::kTimely}, {"swift", nic::CcAlgorithm::kSwift},
    {"hpcc", nic::CcAlgorithm::kHpcc},     {"learned", nic::CcAlgorithm::kLearned},
    {"nscc", nic::CcAlgorithm::kNscc},
};

// Whether each packet has an entropy value of its own.
inline constexpr Named<bool> kSprays[] = {{"none", false}, {"entropy", true}};

inline constexpr Named<TcpAlgorithm> kTcpAlgorithms[] = {
    {"dctcp", TcpAlgorithm::kDctcp},
    {"cubic", TcpAlgorithm::kCubic},
};

inline constexpr Named<Fidelity> kFidelities[] = {
    {"packet", Fidelity::kPacket},
    {"flow", Fidelity::kFlow},
};

// False is the back-end network, true the front-end.
inline constexpr Named<bool> kNetworks[] = {{"back-end", false}, {"front-end", true}};

inline constexpr Named<CollectiveAlgorithm> kAlgorithms[] = {
    {"auto", CollectiveAlgorithm::kAuto},
    {"ring", CollectiveAlgorithm::kRing},
    {"tree", CollectiveAlgorithm::kTree},
    {"halving-doubling", CollectiveAlgorithm::kHalvingDoubling},
    {"hierarchical", CollectiveAlgorithm::kHierarchical},
    {"direct", CollectiveAlgorithm::kDirect},
};

inline constexpr Named<Placement> kPlacements[] = {
    {"packed", Placement::kPacked},
    {"striped", Placement::kStriped},
    {"random", Placement::kRandom},
};

inline constexpr Named<FlowQps> kFlowQps[] = {
    {"per-pair", FlowQps::kPerPair},
    {"per-flow", FlowQps::kPerFlow},
};

inline constexpr Named<FaultKind> kFaults[] = {
    {"down", FaultKind::kDown},     {"up", FaultKind::kUp},       {"slow", FaultKind::kRate},
    {"errors", FaultKind::kErrors}, {"storm", FaultKind::kStorm},
};

template <class T, std::size_t N>
[[nodiscard]] constexpr std::string_view name_of(T value, const Named<T> (&names)[N]) {
  for (const Named<T>& named : names) {
    if (named.value == value) return named.name;
  }
  return "?";
}

}  // namespace nerve::sim::scenario_file
