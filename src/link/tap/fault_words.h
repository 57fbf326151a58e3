// Parsers for the values of a fault specification: probabilities, times, QPNs and opcode patterns.
// All in integers, so that a seed gives the same result on every machine.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "link/tap/fault_spec.h"

namespace nerve::link {

// "1%", "0.1%" or "0.001"; no finer than 10^-9.
[[nodiscard]] std::optional<Probability> parse_probability(std::string_view text);

// "50us" or "1.5ms"; units ns, us, ms, s; at most ten seconds.
[[nodiscard]] std::optional<Duration> parse_time(std::string_view text);

// "50us", "10us..200us", "1%:50us", "1%:10us..200us".
[[nodiscard]] std::optional<FaultDelay> parse_delay(std::string_view text);

// Decimal, or hexadecimal after 0x.
[[nodiscard]] std::optional<std::uint64_t> parse_number(std::string_view text);
[[nodiscard]] std::optional<Qpn> parse_qpn(std::string_view text);

// "N" or "QPN:N".
[[nodiscard]] std::optional<FaultDrop> parse_drop(std::string_view text);

// Names from the opcode table, with or without the transport, with '*' at the end as a wildcard:
// "WRITE_ONLY", "RC_SEND*", "READ_RESPONSE*|ACK". None if a name is unknown.
[[nodiscard]] std::optional<std::bitset<256>> parse_opcodes(std::string_view text);

// The text before the first separator, and the text after it.
[[nodiscard]] std::pair<std::string_view, std::optional<std::string_view>> split_once(
    std::string_view text, std::string_view separator);

[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace nerve::link
