// Whether a run has room in this machine's memory: asked before it starts, since a machine that
// swaps does not report why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nerve::cli {

// "MemAvailable:    1234 kB" of /proc/meminfo, in bytes; none when there is no such line.
[[nodiscard]] std::optional<std::uint64_t> available_memory(std::string_view meminfo);
[[nodiscard]] std::optional<std::uint64_t> available_memory();

// Empty when there is room; or both figures and what to do.
[[nodiscard]] std::string no_room(std::uint64_t needed, std::optional<std::uint64_t> available);

}  // namespace nerve::cli
