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
#include "nic/rx_handler/datagrams.h"
#include "nic/rx_handler/responder.h"
#include "nic/rx_handler/rx_handler.h"
#include "nic/trace.h"
#include "nic/wqe_engine/completer.h"
#include "nic/wqe_engine/completion_unit.h"
#include "nic/wqe_engine/requester.h"

namespace nerve::nic {

struct Nic::Modules {
  Modules(NicConfig valid, SharedObjects* of_sibling)
      : config{std::move(valid)},
        counters{config.counters != nullptr ? *config.counters : own_counters.emplace()},
        objects{of_sibling != nullptr ? *of_sibling : own_objects.emplace(config)} {}

  NicConfig config;
  std::optional<Counters> own_counters;  // empty: those of the driver are used
  Counters& counters;
  Time now;  // as of the last call that passed it
  EventQueue events;
  Port port{config, events};
  std::optional<SharedObjects> own_objects;  // empty: those of a sibling are used
  SharedObjects& objects;
  DmaEngine& dma{objects.dma};
  CqManager cqs{config.limits, events, objects.cqs};
  QpTable qps{config};
  MulticastGroups groups{config.limits};
  Scheduler scheduler;
  CompletionUnit completions{config, counters, cqs, events, scheduler, now};
  QpManager qp_manager{config, cqs, events,  completions, port, scheduler,
                       groups, qps, objects, counters,    now};
  Requester requester{config, counters, dma, port, objects.addresses, completions, scheduler, now};
  Completer completer{config, counters, dma, port, completions, requester, scheduler, now};
  Receives receives{objects.srqs, completions};
  Responder responder{counters, dma, receives, completions, scheduler, config.trace, now};
  Datagrams datagrams{counters, dma, receives, completions, config.trace};
  Answers answers{config, counters, dma, completions};
  ConnectionManager cm{config, counters, port};
  RxHandler rx_handler{config,    counters,  port,      qps, groups, responder,
                       datagrams, completer, scheduler, cm,  now};

  [[gnu::cold, gnu::noinline]] void trace_memory(TraceStep step, std::uint64_t address,
                                                 std::uint64_t length) const;
  // A receive of a QP, or of an SRQ with number zero. False if enough were recorded.
  [[gnu::cold, gnu::noinline]] bool trace_receive(const RecvWr& wr, Qpn qpn) const;
  [[gnu::cold, gnu::noinline]] Expected<std::size_t> traced_poll(CqHandle cq,
                                                                 std::span<Completion> out);
  void transmit_acknowledge(Qp& qp, TxBurst& burst);
  // Skips the members that are not touched for every packet.
  void fetch() const {
    __builtin_prefetch(&config.flow_control.ack_every);
    fetch_lines(&config.gate, &groups);
    fetch_lines(&counters, &counters + 1);
    fetch_lines(&scheduler, &qp_manager);
    fetch_lines(&requester, &cm);
    fetch_lines(&rx_handler, &rx_handler + 1);
  }
};

}  // namespace nerve::nic
