// The RX packet handler: validates each incoming frame and passes it to its QP.
//
// No field of a frame is trusted before it is checked. Invalid frames are dropped and counted; only
// a reliable responder answers an error, and only to its own peer.
#pragma once

#include <span>

#include "base/time.h"
#include "nic/connection/manager_on_demand.h"
#include "nic/counters.h"
#include "nic/ethernet/port.h"
#include "nic/qp_context/core.h"
#include "nic/qp_context/qp_table.h"
#include "nic/rx_handler/datagrams.h"
#include "nic/rx_handler/responder.h"
#include "nic/wqe_engine/completer.h"
#include "wire/frame.h"

namespace nerve::nic {

class RxHandler {
 public:
  RxHandler(Core& core, const Port& port, QpTable& qps, MulticastGroups& groups,
            Responder& responder, Datagrams& datagrams, Completer& completer, ManagerOnDemand& cm)
      : core_{core},
        port_{port},
        qps_{qps},
        groups_{groups},
        responder_{responder},
        datagrams_{datagrams},
        completer_{completer},
        cm_{cm} {}

  void receive(std::span<const wire::Frame> frames);

 private:
  // Returns the QP that the frame is for, if there is one.
  Qp* receive_one(const wire::Frame& frame);
  void to_group(const wire::Frame& frame, const wire::OpcodeInfo& info);
  void to_qp(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info);
  // Whether a packet of a reliable QP has a PSN that its peer may use now. Otherwise it must not
  // have effects beside its own, which its handler refuses.
  [[nodiscard]] static bool is_near(const Qp& qp, const wire::Frame& frame,
                                    const wire::OpcodeInfo& info);
  // Whether it is a response to an outstanding request, or a request that can be executed or held;
  // for a QP that offers selective repeat.
  [[nodiscard]] static bool is_current(const Qp& qp, const wire::Frame& frame,
                                       const wire::OpcodeInfo& info);
  void note_congestion_mark(Qp& qp);

  Core& core_;
  const Port& port_;
  QpTable& qps_;
  MulticastGroups& groups_;
  Responder& responder_;
  Datagrams& datagrams_;
  Completer& completer_;
  ManagerOnDemand& cm_;
};

}  // namespace nerve::nic
