// The QP parameters that the two ends of a connection have agreed on: read from the peer's REQ by
// the passive side, from its REP by the active side.
//
// Each message is written from its sender's point of view, these members from ours: the peer's
// initiator depth is our number of responder resources, and the starting PSN of a message is the
// one at which its *receiver* begins to send (IBTA vol. 1, 12.7).
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "wire/cm_messages.h"

namespace nerve::rdmacm {

struct Agreement {
  Qpn remote_qpn{};
  Psn send_psn{};
  std::uint8_t path_mtu{};
  std::uint8_t responder_resources{};  // ours, for the peer's READs
  std::uint8_t initiator_depth{};
  std::uint8_t timeout{};
  std::uint8_t retry_count{};
  std::uint8_t rnr_retry{};

  [[nodiscard]] static Agreement with(const wire::CmReq& req) {
    return {.remote_qpn = req.local_qpn,
            .send_psn = req.starting_psn,
            .path_mtu = req.path_mtu,
            .responder_resources = req.initiator_depth,
            .initiator_depth = req.responder_resources,
            .timeout = req.primary.local_ack_timeout,
            .retry_count = req.retry_count,
            .rnr_retry = req.rnr_retry_count};
  }

  // The other members stay as in the REQ.
  void complete(const wire::CmRep& rep) {
    remote_qpn = rep.local_qpn;
    send_psn = rep.starting_psn;
    rnr_retry = rep.rnr_retry_count;
    responder_resources = rep.initiator_depth;
    initiator_depth = rep.responder_resources;
  }
};

}  // namespace nerve::rdmacm
