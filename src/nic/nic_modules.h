// The modules of an engine, in the order in which they depend on each other.
#pragma once

#include <optional>
#include <utility>

#include "base/fetch_lines.h"
#include "nic/connection/connection_manager.h"
#include "nic/cq_manager/cq_manager.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/ethernet/port.h"
#include "nic/nic.h"
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

struct alignas(64) Nic::Modules {
  Modules(NicConfig valid, SharedObjects* of_sibling)
      : config{std::move(valid)},
        counters{config.counters != nullptr ? *config.counters : own_counters.emplace()},
        objects{of_sibling != nullptr ? *of_sibling : own_objects.emplace(config)} {}

  NicConfig config;
  std::optional<Counters> own_counters;      // empty: those of the driver are used
  std::optional<SharedObjects> own_objects;  // empty: those of a sibling are used
  EventQueue events;
  MulticastGroups groups{config.limits};

  // What most packets touch, together: a driver of many engines waits for each cache line.
  Counters& counters;
  SharedObjects& objects;
  DmaEngine& dma{objects.dma};
  Time now;  // as of the last call that passed it
  Port port{config, events};
  CqManager cqs{config.limits, events, objects.cqs};
  QpTable qps{config};
  Scheduler scheduler;
  CompletionUnit completions{config, counters, cqs, events, scheduler, now};
  Requester requester{config, counters, dma, port, objects.addresses, completions, scheduler, now};
  Completer completer{config, counters, dma, port, completions, requester, scheduler, now};
  Receives receives{objects.srqs, completions};
  CreditGranter granter{config, scheduler, now};
  Responder responder{counters, dma, receives, completions, scheduler, granter, config.trace, now};
  Answers answers{config, counters, dma, completions};

  Datagrams datagrams{counters, dma, receives, completions, config.trace};
  ConnectionManager cm{config, counters, port};
  RxHandler rx_handler{config,    counters,  port,      qps, groups, responder,
                       datagrams, completer, scheduler, cm,  now};
  QpManager qp_manager{config, cqs, events,  completions, port, scheduler,
                       groups, qps, objects, counters,    now};

  [[gnu::cold, gnu::noinline]] void trace_memory(TraceStep step, std::uint64_t address,
                                                 std::uint64_t length) const;
  // A receive of a QP, or of an SRQ with number zero. False if enough were recorded.
  [[gnu::cold, gnu::noinline]] bool trace_receive(const RecvWr& wr, Qpn qpn) const;
  [[gnu::cold, gnu::noinline]] Expected<std::size_t> traced_poll(CqHandle cq,
                                                                 std::span<Completion> out);
  void transmit_acknowledge(Qp& qp, TxBurst& burst);
  // Skips the members that are not touched for every packet.
  void fetch() const {
    fetch_lines(&config.flow_control.ack_every, &config + 1);
    __builtin_prefetch(&counters);
    dma.fetch();
    fetch_lines(&now, &datagrams);
    cm.fetch();
    fetch_lines(&rx_handler, &rx_handler + 1);
  }
  void fetch_for_timer(Fetch step) const;
  // What expire() touches when no timer is due but one of a QP.
  void fetch_timers() const {
    fetch_lines(&now, &now + 1);
    fetch_lines(&cqs, &cqs + 1);
    fetch_lines(&scheduler, &scheduler + 1);
    __builtin_prefetch(&completer);
    cm.fetch();
  }
};

}  // namespace nerve::nic
