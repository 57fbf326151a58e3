#include "cli/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/top_rows.h"
#include "host/diagnostics/amounts.h"

namespace nerve::cli {
namespace {

struct SortKey {
  TopSort sort;
  char key;
  const char* name;
};

constexpr SortKey kSortKeys[] = {
    {TopSort::kSent, 's', "sent"},
    {TopSort::kReceived, 'r', "received"},
    {TopSort::kPid, 'p', "pid"},
    {TopSort::kProgram, 'n', "program"},
    {TopSort::kRetransmits, 't', "resent"},
    {TopSort::kNaks, 'k', "naks"},
    {TopSort::kQps, 'c', "qps"},
};

std::string rate_text(double bytes_per_second) {
  return host::bytes_text(static_cast<std::uint64_t>(bytes_per_second)) + "/s";
}

std::string bit_rate_text(std::uint64_t bits_per_second) {
  if (bits_per_second == 0) return "-";
  return fmt::format("{:.1f} Gb/s", static_cast<double>(bits_per_second) / 1e9);
}

constexpr const char* kProcessRow =
    "{:>8} {:<16}{:>5}{:>6}{:>11}{:>11}{:>10}{:>8}{:>8}{:>9}  {:<10}  {}";
constexpr const char* kQpRow = "{:>8} {:<16}{:<8}{:>9} {:<4}{:<6}{:>9}  {:<5}{:>11}  {}";

std::vector<std::string> process_lines(const Sample& now, const Sample* before,
                                       const TopState& state) {
  std::vector<std::string> lines{fmt::format(kProcessRow, "pid", "program", "qps", "peers", "sent",
                                             "received", "packets/s", "resent", "naks", "timeouts",
                                             "limit", "paths")};
  for (const TopProcess& row : top_processes(now, before, state)) {
    lines.push_back(fmt::format(kProcessRow, row.pid, row.program, row.qps, row.peers,
                                rate_text(row.sent), rate_text(row.received),
                                host::count_text(static_cast<std::uint64_t>(row.packets)),
                                host::count_text(row.retransmits), host::count_text(row.naks),
                                host::count_text(row.timeouts), bit_rate_text(row.lowest_rate),
                                row.answered ? row.paths : row.paths + " (does not answer)"));
  }
  return lines;
}

std::vector<std::string> qp_lines(const Sample& now, const TopState& state) {
  std::vector<std::string> lines{fmt::format(kQpRow, "pid", "program", "device", "qp", "type",
                                             "state", "peer", "path", "limit", "address")};
  for (const TopQp& row : top_qps(now, state)) {
    lines.push_back(fmt::format(kQpRow, row.pid, row.program, row.qp.device,
                                fmt::format("{:#x}", row.qp.number), row.qp.type, row.qp.state,
                                row.qp.peer == 0 ? "-" : fmt::format("{:#x}", row.qp.peer),
                                row.qp.path, bit_rate_text(row.qp.rate), row.qp.address));
  }
  return lines;
}

std::string head_line(const Sample& now, const Sample* before, const TopState& state) {
  double sent = 0;
  TopState all;
  for (const TopProcess& row : top_processes(now, before, all)) sent += row.sent;
  std::string line =
      fmt::format("nerve top: {} programs, {} sent; ", now.processes.size(), rate_text(sent));
  if (state.view == TopView::kProcesses) {
    line += fmt::format("by {}{}", name_of(state.sort), state.reversed ? ", reversed" : "");
  } else {
    line += "QPs";
  }
  if (state.typing) {
    line += "; filter: " + state.filter + "_";
  } else if (!state.filter.empty()) {
    line += "; filter: " + state.filter;
  }
  return line;
}

std::vector<std::string> help_lines() {
  std::vector<std::string> lines{"keys:",
                                 "  q       leave",
                                 "  tab     processes, or QPs",
                                 "  /       type a filter; enter ends it, escape clears it",
                                 "  R       reverse the order",
                                 "  up down scroll",
                                 "  h ?     this help; any key ends it",
                                 "sort by:"};
  for (const SortKey& key : kSortKeys)
    lines.push_back(fmt::format("  {}       {}", key.key, key.name));
  return lines;
}

}  // namespace

const char* name_of(TopSort sort) {
  return std::ranges::find(kSortKeys, sort, &SortKey::sort)->name;
}

std::optional<TopSort> sort_named(const std::string& name) {
  const auto* const found = std::ranges::find(kSortKeys, name, &SortKey::name);
  return found != std::end(kSortKeys) ? std::optional{found->sort} : std::nullopt;
}

std::string top_frame(const Sample& now, const Sample* before, TopSize size,
                      const TopState& state) {
  std::vector<std::string> lines{head_line(now, before, state)};
  if (state.help) {
    std::ranges::copy(help_lines(), std::back_inserter(lines));
  } else {
    std::vector<std::string> table = state.view == TopView::kProcesses
                                         ? process_lines(now, before, state)
                                         : qp_lines(now, state);
    if (table.size() == 1) table.emplace_back("nothing to show; try: nerve run -- ib_write_bw");
    lines.push_back(table.front());  // stays while the others scroll
    const std::size_t first = std::min(state.first, table.size() - 2) + 1;
    lines.insert(lines.end(), table.begin() + static_cast<std::ptrdiff_t>(first), table.end());
  }
  lines.resize(std::min(lines.size(), std::max<std::size_t>(size.rows, 1)));
  std::string text;
  for (std::string& line : lines) {
    line.resize(std::min(line.size(), size.columns));
    line.resize(line.find_last_not_of(' ') + 1);
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

bool press(TopState& state, char key) {
  if (state.typing) {
    constexpr char kDelete = '\x7f';
    if (key == '\r' || key == '\n') {
      state.typing = false;
    } else if (key == kKeyEscape) {
      state.typing = false;
      state.filter.clear();
    } else if (key == kDelete || key == '\b') {
      if (!state.filter.empty()) state.filter.pop_back();
    } else if (key >= ' ' && key <= '~' && state.filter.size() < 40) {
      state.filter += key;
    }
    state.first = 0;
    return true;
  }
  if (state.help) {
    state.help = false;
    return true;
  }
  switch (key) {
    case 'q':
    case 'Q':
      return false;
    case '\t':
      state.view = state.view == TopView::kProcesses ? TopView::kQps : TopView::kProcesses;
      state.first = 0;
      return true;
    case '/':
      state.typing = true;
      return true;
    case kKeyEscape:
      state.filter.clear();
      return true;
    case 'R':
      state.reversed = !state.reversed;
      return true;
    case 'h':
    case '?':
      state.help = true;
      return true;
    case kKeyUp:
      if (state.first > 0) --state.first;
      return true;
    case kKeyDown:
      if (state.first < 10'000) ++state.first;
      return true;
    default:
      break;
  }
  const auto* const chosen = std::ranges::find(kSortKeys, key, &SortKey::key);
  if (chosen != std::end(kSortKeys)) state.sort = chosen->sort;
  return true;
}

}  // namespace nerve::cli
