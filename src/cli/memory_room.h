// Checks that a run fits in this machine's memory. Checked before it starts, because a machine that
// swaps does not say why it is slow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nerve::cli {

// The value of "MemAvailable:    1234 kB" in /proc/meminfo, in bytes; none if there is no such
// line.
[[nodiscard]] std::optional<std::uint64_t> available_memory(std::string_view meminfo);
[[nodiscard]] std::optional<std::uint64_t> available_memory();

// Empty if there is room; otherwise both figures and what to do.
[[nodiscard]] std::string no_room(std::uint64_t needed, std::optional<std::uint64_t> available);

}  // namespace nerve::cli
