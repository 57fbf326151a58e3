// The second half of making a trace document: which message each event belongs to.
//
// The requester knows its messages by number; everybody else knows them by PSN. A packet that was
// paired belongs to the message that its sender made it for. An answer names a PSN of the
// requester, whose messages have known ranges of PSNs.
#pragma once

#include <vector>

#include "cli/trace_pairing.h"

namespace nerve::cli {

// Sets `message` of the events, and `traced` of the QPs. The packets have been paired.
[[nodiscard]] std::vector<TraceMessage> group_messages(TraceRecords& all,
                                                       std::vector<TraceQp>& qps);

}  // namespace nerve::cli
