#include "nic/qp_manager/qp_transitions.h"

#include <array>
#include <bit>
#include <cstddef>

namespace nerve::nic {
namespace {

// A set of QP types, one bit each.
using TypeSet = unsigned;
constexpr TypeSet only(QpType type) { return 1U << static_cast<unsigned>(type); }

struct Row {
  QpState from, to;
  TypeSet types;
  QpAttrs required, optional;
};

// One row per transition and group of types with the same attributes; rows do not overlap.
constexpr auto kRows = [] {
  using enum QpState;
  using enum QpAttrs;
  constexpr TypeSet rc = only(QpType::kRc), uc = only(QpType::kUc);
  constexpr TypeSet xs = only(QpType::kXrcSend), xr = only(QpType::kXrcRecv);
  constexpr TypeSet ud = only(QpType::kUd), gsi = only(QpType::kGsi);
  constexpr TypeSet connected = rc | uc | xs | xr, datagram = ud | gsi;

  constexpr QpAttrs path = kPath | kPathMtu | kDestQp | kRqPsn;
  constexpr QpAttrs replies = kMaxDestRead | kMinRnrTimer;                    // for a responder
  constexpr QpAttrs retries = kTimeout | kRetryCount | kRnrRetry | kMaxRead;  // for a requester
  constexpr QpAttrs migration = kAltPath | kPathMigState;
  constexpr QpAttrs live = kCurState | kAccess | migration;

  // clang-format off
  return std::array{
      Row{kReset, kInit, connected, kPkeyIndex | kPort | kAccess, kNone},
      Row{kReset, kInit, ud, kPkeyIndex | kPort | kQkey, kNone},
      // QP1 is bound to its port at creation.
      Row{kReset, kInit, gsi, kPkeyIndex | kQkey, kNone},

      Row{kInit, kInit, connected, kNone, kPkeyIndex | kPort | kAccess},
      Row{kInit, kInit, ud, kNone, kPkeyIndex | kPort | kQkey},
      Row{kInit, kInit, gsi, kNone, kPkeyIndex | kQkey},

      // The rate limit is not in the standard; Linux accepts it for RC in these transitions.
      Row{kInit, kRtr, rc, path | replies, kAltPath | kAccess | kPkeyIndex | kRateLimit},
      Row{kInit, kRtr, xr, path | replies, kAltPath | kAccess | kPkeyIndex},
      Row{kInit, kRtr, uc | xs, path, kAltPath | kAccess | kPkeyIndex},
      Row{kInit, kRtr, datagram, kNone, kPkeyIndex | kQkey},

      Row{kRtr, kRts, rc, kSqPsn | retries, live | kMinRnrTimer | kRateLimit},
      Row{kRtr, kRts, xs, kSqPsn | retries, live},
      // The target only sends answers; the attributes required here serve path migration only.
      Row{kRtr, kRts, xr, kSqPsn | kTimeout, live | kMinRnrTimer},
      Row{kRtr, kRts, uc, kSqPsn, live},
      Row{kRtr, kRts, datagram, kSqPsn, kCurState | kQkey},

      Row{kRts, kRts, rc, kNone, live | kMinRnrTimer | kRateLimit},
      Row{kRts, kRts, xr, kNone, live | kMinRnrTimer},
      Row{kRts, kRts, uc | xs, kNone, live},
      Row{kRts, kRts, datagram, kNone, kCurState | kQkey},

      Row{kRts, kSqd, connected | datagram, kNone, kSqdNotify},

      Row{kSqd, kSqd, rc, kNone, kPort | kPath | retries | replies | kAccess | kPkeyIndex
                                     | migration},
      Row{kSqd, kSqd, xs, kNone, kPort | kPath | retries | kAccess | kPkeyIndex | migration},
      Row{kSqd, kSqd, xr, kNone, kPort | kPath | kTimeout | replies | kAccess | kPkeyIndex
                                     | migration},
      Row{kSqd, kSqd, uc, kNone, kPath | kAccess | kPkeyIndex | migration},
      Row{kSqd, kSqd, datagram, kNone, kPkeyIndex | kQkey},

      Row{kSqd, kRts, rc | xr, kNone, live | kMinRnrTimer},
      Row{kSqd, kRts, uc | xs, kNone, live},
      Row{kSqd, kRts, datagram, kNone, kCurState | kQkey},

      // Only an unreliable send queue enters SQE; a reliable QP goes to ERR (10.3.1).
      Row{kSqe, kRts, uc, kNone, kCurState | kAccess},
      Row{kSqe, kRts, datagram, kNone, kCurState | kQkey},
  };
  // clang-format on
}();

constexpr std::optional<TransitionRule> find_rule(QpType type, QpState from, QpState to) {
  // Any state may be abandoned, and the step carries nothing.
  if (to == QpState::kReset || to == QpState::kErr) return TransitionRule{};
  if (static_cast<std::uint32_t>(type) >= kQpTypes) return std::nullopt;
  for (const Row& row : kRows) {
    if (row.from == from && row.to == to && (row.types & only(type)) != 0)
      return TransitionRule{row.required, row.optional};
  }
  return std::nullopt;
}

static_assert(!find_rule(QpType::kRc, QpState::kReset, QpState::kRts));
static_assert(!find_rule(QpType::kRc, QpState::kSqe, QpState::kRts));
static_assert(find_rule(QpType::kUd, QpState::kSqe, QpState::kRts));
static_assert(find_rule(QpType::kRc, QpState::kRts, QpState::kErr)->optional == QpAttrs::kNone);

constexpr bool rows_are_disjoint() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (intersects(kRows[i].required, kRows[i].optional)) return false;
    for (std::size_t j = i + 1; j < kRows.size(); ++j) {
      if (kRows[i].from == kRows[j].from && kRows[i].to == kRows[j].to &&
          (kRows[i].types & kRows[j].types) != 0)
        return false;
    }
  }
  return true;
}
static_assert(rows_are_disjoint());

constexpr std::array<const char*, kQpStates> kStateNames{"reset", "init", "rtr", "rts",
                                                         "sqd",   "sqe",  "err"};
constexpr std::array<const char*, kQpTypes> kTypeNames{"rc",       "uc",       "ud",
                                                       "xrc_send", "xrc_recv", "gsi"};
constexpr std::array<const char*, kQpAttrCount> kAttrNames{
    "pkey_index",    "port_num",     "qp_access_flags",
    "qkey",          "ah_attr",      "path_mtu",
    "dest_qp_num",   "rq_psn",       "max_dest_rd_atomic",
    "min_rnr_timer", "sq_psn",       "timeout",
    "retry_cnt",     "rnr_retry",    "max_rd_atomic",
    "sqd_notify",    "alt_ah_attr",  "path_mig_state",
    "rate_limit",    "cur_qp_state", "cap"};
static_assert(static_cast<unsigned>(QpAttrs::kCaps) == 1U << (kQpAttrCount - 1));

// An Error carries a literal and nothing else, so every sentence is written by the compiler.
struct Sentence {
  std::array<char, 56> text{};
  template <class... Parts>
  static constexpr Sentence of(Parts... parts) {
    Sentence sentence;
    std::size_t at = 0;
    const auto append = [&](const char* part) {
      while (*part != '\0') sentence.text.at(at++) = *part++;
    };
    (append(parts), ...);
    sentence.text.at(at) = '\0';
    return sentence;
  }
};

constexpr auto kMissing = [] {
  std::array<std::array<Sentence, kQpAttrCount>, kQpStates> all{};
  for (std::size_t to = 0; to < kQpStates; ++to)
    for (std::size_t a = 0; a < kQpAttrCount; ++a)
      all[to][a] = Sentence::of("modify to ", kStateNames[to], ": missing ", kAttrNames[a]);
  return all;
}();
constexpr auto kForeign = [] {
  std::array<std::array<Sentence, kQpAttrCount>, kQpStates> all{};
  for (std::size_t to = 0; to < kQpStates; ++to)
    for (std::size_t a = 0; a < kQpAttrCount; ++a)
      all[to][a] = Sentence::of("modify to ", kStateNames[to], ": not allowed: ", kAttrNames[a]);
  return all;
}();
constexpr auto kNoSuchStep = [] {
  std::array<std::array<Sentence, kQpStates>, kQpStates> all{};
  for (std::size_t from = 0; from < kQpStates; ++from)
    for (std::size_t to = 0; to < kQpStates; ++to)
      all[from][to] = Sentence::of("modify ", kStateNames[from], " to ", kStateNames[to],
                                   ": no such transition");
  return all;
}();

constexpr std::size_t first_of(QpAttrs attributes) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<std::uint32_t>(attributes)));
}

}  // namespace

std::optional<TransitionRule> transition_rule(QpType type, QpState from, QpState to) {
  return find_rule(type, from, to);
}

Status check_transition(QpType type, QpState from, QpState to, QpAttrs given) {
  const auto from_index = static_cast<std::size_t>(from);
  const auto to_index = static_cast<std::size_t>(to);
  if (from_index >= kQpStates || to_index >= kQpStates)
    return refuse(ErrorCode::kInvalid, "modify: no such state");

  const std::optional<TransitionRule> rule = find_rule(type, from, to);
  if (!rule) return refuse(ErrorCode::kInvalid, kNoSuchStep[from_index][to_index].text.data());

  if (const QpAttrs missing = without(rule->required, given); missing != QpAttrs::kNone)
    return refuse(ErrorCode::kInvalid, kMissing[to_index][first_of(missing)].text.data());
  const QpAttrs foreign = without(given, rule->required | rule->optional);
  if (foreign == QpAttrs::kNone) return Done{};
  if (const std::size_t first = first_of(foreign); first < kQpAttrCount)
    return refuse(ErrorCode::kInvalid, kForeign[to_index][first].text.data());
  return refuse(ErrorCode::kInvalid, "modify: unknown attribute",
                static_cast<std::uint64_t>(foreign));
}

const char* to_string(QpState state) {
  const auto index = static_cast<std::size_t>(state);
  return index < kQpStates ? kStateNames[index] : "unknown state";
}

const char* to_string(QpType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kQpTypes ? kTypeNames[index] : "unknown type";
}

const char* to_string(QpAttrs attribute) {
  const std::size_t index = first_of(attribute);
  const bool one = std::has_single_bit(static_cast<std::uint32_t>(attribute));
  return one && index < kQpAttrCount ? kAttrNames[index] : "unknown attribute";
}

}  // namespace nerve::nic
