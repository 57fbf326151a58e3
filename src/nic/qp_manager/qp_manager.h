// The QP manager: creates, modifies and destroys queue pairs, shared receive queues, XRC domains
// and address handles.
#pragma once

#include "base/slot_table.h"
#include "base/time.h"
#include "nic/attributes.h"
#include "nic/cq_manager/cq_manager.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/error.h"
#include "nic/ethernet/port.h"
#include "nic/qp_context/address_handle.h"
#include "nic/qp_context/core.h"
#include "nic/qp_context/qp_table.h"
#include "nic/qp_context/scheduler.h"
#include "nic/qp_glance.h"
#include "nic/qp_manager/shared_objects.h"
#include "nic/rx_handler/datagrams.h"
#include "nic/wqe_engine/completion_unit.h"

namespace nerve::nic {

class QpManager {
 public:
  QpManager(Core& core, CqManager& cqs, EventQueue& events, CompletionUnit& completions,
            const Port& port, MulticastGroups& groups, QpTable& qps, SharedObjects& objects);

  Expected<XrcdHandle> alloc_xrcd();
  Status dealloc_xrcd(XrcdHandle xrcd);

  Expected<SrqHandle> create_srq(const SrqInit& init);
  Status set_srq_limit(SrqHandle srq, std::uint32_t limit);
  [[nodiscard]] Expected<SrqQuery> query_srq(SrqHandle srq);
  Status destroy_srq(SrqHandle srq);

  Expected<AhHandle> create_ah(PdHandle pd, const AddressVector& address);
  Status destroy_ah(AhHandle ah);

  Expected<QpHandle> create(const QpInit& init);
  Status modify(QpHandle qp, QpState to, QpAttrs given, const QpAttributes& attributes);
  [[nodiscard]] Expected<QpQuery> query(QpHandle qp);
  Status destroy(QpHandle qp);
  Status redirect_flow(QpHandle qp, std::uint32_t flow_label);
  Status restart_flow(QpHandle qp, std::uint32_t flow_label);
  Expected<bool> steer_flow(Qpn qpn, Qpn peer, const FlowSteering& steering);
  [[nodiscard]] bool completions_wait(Qpn qpn);

 private:
  [[nodiscard]] Status check_init(const QpInit& init);
  [[nodiscard]] Status check_values(const Qp& qp, QpAttrs given, const QpAttributes& values) const;
  void apply(Qp& qp, QpAttrs given, const QpAttributes& values);
  void enter(Qp& qp, QpState from, QpState to);
  void start_responder(Qp& qp);
  void start_requester(Qp& qp);
  void start_flow(Qp& qp);
  static void redirect(Qp& qp, std::uint32_t flow_label);
  static void limit_rate(Qp& qp);
  void reset(Qp& qp);
  void forget_completions(Qp& qp);

  Core& core_;
  CqManager& cqs_;
  EventQueue& events_;
  CompletionUnit& completions_;
  const Port& port_;
  MulticastGroups& groups_;
  QpTable& qps_;
  SlotTable<Srq>& srqs_;
  SlotTable<AddressHandle>& addresses_;
  SlotTable<XrcDomain>& xrcds_;
};

}  // namespace nerve::nic
