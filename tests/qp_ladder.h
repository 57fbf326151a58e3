// Moves a QP of the engine through INIT, RTR and RTS. Each step passes the attributes that its
// transition requires (nic/qp_manager/qp_transitions.h) and those that the caller adds.
//
// Tests of the transitions themselves call modify_qp.
#pragma once

#include <utility>

#include "nic/nic.h"
#include "nic/qp_manager/qp_transitions.h"

namespace nerve::test {

// One transition.
inline nic::Status step_qp(nic::Nic& nic, nic::QpHandle qp, nic::QpState to,
                           const nic::QpAttributes& attributes, nic::QpAttrs extra = {}) {
  const nic::QpQuery query = *nic.query_qp(qp);
  const auto rule = nic::transition_rule(query.type, query.state, to);
  return nic.modify_qp(qp, to, rule ? rule->required | extra : extra, attributes);
}

// Optional attributes of the transitions to RTR and to RTS.
struct ExtraAttrs {
  nic::QpAttrs rtr{};
  nic::QpAttrs rts{};
};

// All transitions from the current state (RESET, INIT or RTR) up to `to`, at most up to RTS. Stops
// at the first that fails.
inline nic::Status bring_qp_to(nic::Nic& nic, nic::QpHandle qp, nic::QpState to,
                               const nic::QpAttributes& attributes, ExtraAttrs extra = {}) {
  using enum nic::QpState;
  nic::Status status{nic::Done{}};
  for (const auto& [next, more] :
       {std::pair{kInit, nic::QpAttrs{}}, {kRtr, extra.rtr}, {kRts, extra.rts}}) {
    const nic::QpState state = nic.query_qp(qp)->state;
    if (next > to || (state <= kRts && next <= state)) continue;
    status = step_qp(nic, qp, next, attributes, more);
    if (!status) break;
  }
  return status;
}

}  // namespace nerve::test
