// The modules of an engine, in the order in which they depend on each other.
#pragma once

#include <optional>
#include <utility>

#include "base/fetch_lines.h"
#include "nic/connection/manager_on_demand.h"
#include "nic/cq_manager/cq_manager.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/ethernet/port.h"
#include "nic/nic.h"
#include "nic/qp_context/core.h"
#include "nic/qp_manager/qp_manager.h"
#include "nic/qp_manager/shared_objects.h"
#include "nic/rx_handler/answers.h"
#include "nic/rx_handler/credit_granter.h"
#include "nic/rx_handler/datagrams.h"
#include "nic/rx_handler/responder.h"
#include "nic/rx_handler/rx_handler.h"
#include "nic/trace.h"
#include "nic/wqe_engine/completer.h"
#include "nic/wqe_engine/completion_unit.h"
#include "nic/wqe_engine/requester.h"

namespace nerve::nic {

// A driver of thousands of engines waits for each cache line that a packet touches. Those members
// come together, in the order of what is needed at the same time; the others are before and behind.
struct alignas(64) Nic::Modules {
  Modules(SharedConfig given, const NicHooks& hooks, SharedObjects* of_sibling)
      : settings{std::move(given)},
        objects{of_sibling != nullptr ? *of_sibling : own_objects.emplace(*settings, hooks)},
        core{.config = *settings,
             .counters = hooks.counters != nullptr ? *hooks.counters : own_counters.emplace(),
             .dma = objects.dma,
             .gate = hooks.gate,
             .trace = hooks.trace,
             .direct_path = hooks.direct_path,
             .late_memory = hooks.late_memory} {}

  SharedConfig settings;
  std::optional<SharedObjects> own_objects;  // empty: those of a sibling are used
  std::optional<Counters> own_counters;      // empty: those of the driver are used
  EventQueue events;
  MulticastGroups groups{(*settings).limits};
  SharedObjects& objects;

  Core core;
  Requester requester{core, port, objects.addresses, completions};
  QpTable qps{core.config};
  Port port{core.config, events};
  CqManager cqs{core.config.limits, events, objects.cqs};
  ManagerOnDemand cm{core.config, core.counters, port, core.trace};
  Answers answers{core, completions};
  Responder responder{core, receives, completions, granter};
  RxHandler rx_handler{core, port, qps, groups, responder, datagrams, completer, cm};
  Receives receives{objects.srqs, completions};
  Completer completer{core, port, completions, requester};
  CompletionUnit completions{core, cqs, events};
  CreditGranter granter{core};

  Datagrams datagrams{core, receives, completions};
  QpManager qp_manager{core, cqs, events, completions, port, groups, qps, objects};

  [[gnu::cold, gnu::noinline]] void trace_memory(TraceStep step, std::uint64_t address,
                                                 std::uint64_t length) const;
  // A receive of a QP, or of an SRQ with number zero. False if enough were recorded.
  [[gnu::cold, gnu::noinline]] bool trace_receive(const RecvWr& wr, Qpn qpn) const;
  [[gnu::cold, gnu::noinline]] Expected<std::size_t> traced_poll(CqHandle cq,
                                                                 std::span<Completion> out);
  void transmit_acknowledge(Qp& qp, TxBurst& burst);
  void fetch() const {
    fetch_line(&core.counters);
    core.dma.fetch();
    fetch_lines(&core, &datagrams);
  }
  void fetch_for_timer(Fetch step) const;
  // What expire() touches when no timer is due but one of a QP.
  void fetch_timers() const {
    fetch_lines(&core, &core + 1);
    fetch_lines(&cqs, &cqs + 1);
    fetch_line(&completer);
  }
};

}  // namespace nerve::nic
