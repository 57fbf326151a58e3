// The QPs of a process, its peers and what congestion control allows: lines of its report.
#pragma once

#include <span>
#include <string>

#include "host/host.h"

namespace nerve::host {

// "qps", "peers" and "lowest_rate" (bits per second of the QP that congestion control slows down
// most; 0: it slows none), and a line "qp ..." for each of the first QPs. Takes the locks of the
// shards, one after the other.
[[nodiscard]] std::string connections_text(std::span<Shard* const> shards);

}  // namespace nerve::host
