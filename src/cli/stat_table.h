// What `nerve stat` prints of processes: a table for people, a line of JSON for machines.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "host/peers/inquiry.h"

namespace nerve::cli {

// Payload that each process has sent, by pid: of an earlier look, to tell how fast it goes now.
using SentBefore = std::map<pid_t, std::uint64_t>;

[[nodiscard]] std::uint64_t bytes_sent(const host::ProcessReport& report);
[[nodiscard]] SentBefore bytes_sent(std::span<const host::ProcessReport> reports);

struct Since {
  const SentBefore& sent;
  double seconds{};
};

// With a column for the rate when there was an earlier look.
[[nodiscard]] std::string stat_table(std::span<const host::ProcessReport> reports,
                                     const std::optional<Since>& since);

[[nodiscard]] std::string stat_json(const host::ProcessReport& report);

}  // namespace nerve::cli
