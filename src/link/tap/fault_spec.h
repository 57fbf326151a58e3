// The specification of a fault tap: 'loss=1%,op=ACK;delay=20us,op=SEND*;seed=7'.
//
// Rules are separated by ';', the words of a rule by ','. A rule selects packets (op, qp; without
// them all) and lists their faults. Rules are evaluated independently, so several may apply to one
// packet. docs/taps.md lists the words.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace nerve::link {

// In units of 10^-9. Integers, so that a seed gives the same result on every machine.
struct Probability {
  static constexpr std::uint32_t kCertain = 1'000'000'000;
  std::uint32_t parts{};
  friend bool operator==(Probability, Probability) = default;
};

struct FaultDelay {
  Probability probability{};
  Duration least{};
  Duration most{};
  friend bool operator==(const FaultDelay&, const FaultDelay&) = default;
};

// The nth packet, from 1, of those that the rule selects; of one QP or of each.
struct FaultDrop {
  std::optional<Qpn> qpn;
  std::uint64_t nth{};
  friend bool operator==(const FaultDrop&, const FaultDrop&) = default;
};

struct FaultRule {
  std::bitset<256> opcodes;  // selected opcodes
  std::optional<Qpn> qpn;    // selected destination QP in the BTH; none: all
  Probability loss{};
  Probability duplicate{};
  Probability reorder{};
  Probability corrupt{};
  Probability mark{};  // ECN: congestion experienced
  FaultDelay delay{};
  std::vector<FaultDrop> drops;
  friend bool operator==(const FaultRule&, const FaultRule&) = default;
};

struct FaultSpec {
  std::uint64_t seed{1};
  std::vector<FaultRule> rules;
  friend bool operator==(const FaultSpec&, const FaultSpec&) = default;
};

// The error is a sentence: what is wrong, with which value, and what is allowed.
[[nodiscard]] Result<FaultSpec, std::string> parse_fault_spec(std::string_view text);

}  // namespace nerve::link
