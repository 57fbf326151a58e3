// Which modify_qp steps are allowed for each type of QP, and which attributes each one must or may
// carry (IBTA vol. 1, 11.2.5.2, "QP state transition properties").
#pragma once

#include "nic/attributes.h"
#include "nic/error.h"

namespace nerve::nic {

// Done, or the reason: no such transition, or the name of the first attribute that is missing or
// has no business there ("modify to rtr: missing rq_psn").
[[nodiscard]] Status check_transition(QpType type, QpState from, QpState to, QpAttrs given);

[[nodiscard]] const char* to_string(QpState state);
[[nodiscard]] const char* to_string(QpType type);

}  // namespace nerve::nic
