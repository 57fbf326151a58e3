// Which modify_qp steps are allowed for each type of QP, and which attributes each one must or may
// carry (IBTA vol. 1, 11.2.5.2, "QP state transition properties"). docs/qp-states.md shows the
// whole table.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/attributes.h"
#include "nic/error.h"

namespace nerve::nic {

inline constexpr std::uint32_t kQpTypes = 6;
inline constexpr std::uint32_t kQpStates = 7;
inline constexpr std::uint32_t kQpAttrCount = 21;  // single bits of QpAttrs, from the lowest

struct TransitionRule {
  QpAttrs required{};
  QpAttrs optional{};
  friend bool operator==(const TransitionRule&, const TransitionRule&) = default;
};

// What a step must and may carry; nullopt when there is no such step.
[[nodiscard]] std::optional<TransitionRule> transition_rule(QpType type, QpState from, QpState to);

// Done, or the reason: no such transition, or the name of the first attribute that is missing or
// has no business there ("modify to rtr: missing rq_psn"). Masks only: whether a value is good,
// and whether a given cur_qp_state is the current one, is for the caller who has the values.
[[nodiscard]] Status check_transition(QpType type, QpState from, QpState to, QpAttrs given);

[[nodiscard]] const char* to_string(QpState state);
[[nodiscard]] const char* to_string(QpType type);
// One attribute, by its name in struct ibv_qp_attr; "unknown attribute" when not a single bit.
[[nodiscard]] const char* to_string(QpAttrs attribute);

}  // namespace nerve::nic
