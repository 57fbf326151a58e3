// The values in a fault specification: probabilities, times, QPNs and opcode patterns, read from
// text. All in whole numbers, for a seed must mean the same on every machine.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "link/tap/fault_spec.h"

namespace nerve::link {

// "1%", "0.1%" or "0.001"; no finer than a part in a thousand million.
[[nodiscard]] std::optional<Probability> parse_probability(std::string_view text);

// "50us" or "1.5ms"; units ns, us, ms, s; ten seconds at most.
[[nodiscard]] std::optional<Duration> parse_time(std::string_view text);

// "50us", "10us..200us", "1%:50us", "1%:10us..200us".
[[nodiscard]] std::optional<FaultDelay> parse_delay(std::string_view text);

// Decimal, or hexadecimal after 0x.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text);
[[nodiscard]] std::optional<Qpn> parse_qpn(std::string_view text);

// "N" or "QPN:N".
[[nodiscard]] std::optional<FaultDrop> parse_drop(std::string_view text);

// Names as the opcode table has them, with or without the transport, '*' at the end for the rest:
// "WRITE_ONLY", "RC_SEND*", "READ_RESPONSE*|ACK". None when a name is nobody's.
[[nodiscard]] std::optional<std::bitset<256>> parse_opcodes(std::string_view text);

// The text before the first separator, and what follows it.
[[nodiscard]] std::pair<std::string_view, std::optional<std::string_view>> split_once(
    std::string_view text, std::string_view separator);

[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace nerve::link
