#include "cli/memory_room.h"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>

#include "host/diagnostics/amounts.h"

namespace nerve::cli {

std::optional<std::uint64_t> available_memory(std::string_view meminfo) {
  constexpr std::string_view kName = "MemAvailable:";
  const std::size_t at = meminfo.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  meminfo.remove_prefix(at + kName.size());
  while (meminfo.starts_with(' ')) meminfo.remove_prefix(1);
  std::uint64_t kilobytes = 0;
  const auto [end, error] =
      std::from_chars(meminfo.data(), meminfo.data() + meminfo.size(), kilobytes);
  if (error != std::errc{} || kilobytes > std::numeric_limits<std::uint64_t>::max() / 1024) {
    return std::nullopt;
  }
  return kilobytes * 1024;
}

std::optional<std::uint64_t> available_memory() {
  std::ifstream file{"/proc/meminfo"};
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  return available_memory(text);
}

std::string no_room(std::uint64_t needed, std::optional<std::uint64_t> available) {
  if (!available || needed <= *available) return {};
  return fmt::format(
      "it needs about {} of memory, and {} are available; use fewer servers (servers.count), "
      "fewer NICs in each (servers.nics), jobs with fewer ranks or fewer QPs (nic.qps_per_pair), "
      "or "
      "run it --anyway",
      host::bytes_text(needed), host::bytes_text(*available));
}

}  // namespace nerve::cli
