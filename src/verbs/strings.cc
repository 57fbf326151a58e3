// Strings for enum values.
#include <cstddef>
#include <iterator>

#include "verbs/api.h"

namespace {

constexpr const char* kUnknown = "unknown";

// In the order of their enums.
constexpr const char* kNodeTypes[] = {kUnknown,
                                      "InfiniBand channel adapter",
                                      "InfiniBand switch",
                                      "InfiniBand router",
                                      "iWARP NIC",
                                      "usNIC",
                                      "usNIC UDP",
                                      "unspecified"};
constexpr const char* kPortStates[] = {"no state change (NOP)", "down", "init", "armed", "active",
                                       "active defer"};
constexpr const char* kEvents[] = {"CQ error",
                                   "local work queue catastrophic error",
                                   "invalid request local work queue error",
                                   "local access violation work queue error",
                                   "communication established",
                                   "send queue drained",
                                   "path migrated",
                                   "path migration request error",
                                   "local catastrophic error",
                                   "port active",
                                   "port error",
                                   "LID change",
                                   "P_Key change",
                                   "SM change",
                                   "SRQ catastrophic error",
                                   "SRQ limit reached",
                                   "last WQE reached",
                                   "client reregistration",
                                   "GID table change",
                                   "WQ fatal"};
constexpr const char* kStatuses[] = {"success",
                                     "local length error",
                                     "local QP operation error",
                                     "local EE context operation error",
                                     "local protection error",
                                     "Work Request Flushed Error",
                                     "memory management operation error",
                                     "bad response error",
                                     "local access error",
                                     "remote invalid request error",
                                     "remote access error",
                                     "remote operation error",
                                     "transport retry counter exceeded",
                                     "RNR retry counter exceeded",
                                     "local RDD violation error",
                                     "remote invalid RD request",
                                     "aborted error",
                                     "invalid EE context number",
                                     "invalid EE context state",
                                     "fatal error",
                                     "response timeout error",
                                     "general error",
                                     "TM error",
                                     "TM software rendezvous"};
static_assert(std::size(kNodeTypes) == IBV_NODE_UNSPECIFIED + 1);
static_assert(std::size(kPortStates) == IBV_PORT_ACTIVE_DEFER + 1);
static_assert(std::size(kEvents) == IBV_EVENT_WQ_FATAL + 1);
static_assert(std::size(kStatuses) == IBV_WC_TM_RNDV_INCOMPLETE + 1);

template <std::size_t N>
const char* name_in(const char* const (&names)[N], int value) {
  return value >= 0 && static_cast<std::size_t>(value) < N ? names[value] : kUnknown;
}

}  // namespace

extern "C" {

const char* ibv_node_type_str(ibv_node_type type) VERBS_NOEXCEPT {
  return name_in(kNodeTypes, type);
}
const char* ibv_port_state_str(ibv_port_state state) VERBS_NOEXCEPT {
  return name_in(kPortStates, static_cast<int>(state));
}
const char* ibv_event_type_str(ibv_event_type event) VERBS_NOEXCEPT {
  return name_in(kEvents, static_cast<int>(event));
}
const char* ibv_wc_status_str(ibv_wc_status status) VERBS_NOEXCEPT {
  return name_in(kStatuses, static_cast<int>(status));
}

}  // extern "C"
