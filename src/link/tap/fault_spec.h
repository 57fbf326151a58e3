// What a fault tap does, as a person writes it: 'loss=1%,op=ACK;delay=20us,op=SEND*;seed=7'.
//
// Rules are separated by ';', the words of a rule by ','. A rule says which packets it is about
// (op, qp; without them all) and what befalls them. Each rule judges for itself, so that several
// may strike one packet. docs/taps.md lists the words.
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

// In parts of a thousand million: whole numbers, so that a seed means the same on every machine.
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

// The nth packet, from 1, of those that the rule is about; of one QP or of each.
struct FaultDrop {
  std::optional<Qpn> qpn;
  std::uint64_t nth{};
  friend bool operator==(const FaultDrop&, const FaultDrop&) = default;
};

struct FaultRule {
  std::bitset<256> opcodes;  // that it is about
  std::optional<Qpn> qpn;    // that it is about: the destination in the BTH; none for all
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
