// The modify_qp transitions allowed for each QP type, and the attributes that each one requires or
// permits (IBTA vol. 1, 11.2.5.2, "QP state transition properties"). docs/qp-states.md shows the
// whole table.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/attributes.h"
#include "nic/error.h"

namespace nerve::nic {

inline constexpr std::uint32_t kQpTypes = 6;
inline constexpr std::uint32_t kQpStates = 7;
inline constexpr std::uint32_t kQpAttrCount = 21;  // number of bits in QpAttrs

struct TransitionRule {
  QpAttrs required{};
  QpAttrs optional{};
  friend bool operator==(const TransitionRule&, const TransitionRule&) = default;
};

// The required and optional attributes of a transition; nullopt when it is not allowed.
[[nodiscard]] std::optional<TransitionRule> transition_rule(QpType type, QpState from, QpState to);

// Checks the attribute mask. Returns the reason when there is no such transition, or the name of
// the first attribute that is missing or not permitted ("modify to rtr: missing rq_psn"). The
// caller checks the values, and whether cur_qp_state is the current state.
[[nodiscard]] Status check_transition(QpType type, QpState from, QpState to, QpAttrs given);

[[nodiscard]] const char* to_string(QpState state);
[[nodiscard]] const char* to_string(QpType type);
// The name of one attribute in struct ibv_qp_attr; "unknown attribute" when not a single bit.
[[nodiscard]] const char* to_string(QpAttrs attribute);

}  // namespace nerve::nic
