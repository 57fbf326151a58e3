#include "cli/trace_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/trace_grouping.h"
#include "cli/trace_pairing.h"
#include "host/diagnostics/trace_names.h"

namespace nerve::cli {
namespace {

using nic::TraceRecord;
using nic::TraceStep;

// Strings that events refer to by index.
class Words {
 public:
  explicit Words(std::vector<std::string>& list) : list_{list} {}
  std::int32_t index_of(std::string word) {
    if (word.empty()) return -1;
    const auto [at, is_new] = known_.emplace(word, static_cast<std::int32_t>(list_.size()));
    if (is_new) list_.push_back(std::move(word));
    return at->second;
  }

 private:
  std::vector<std::string>& list_;
  std::map<std::string, std::int32_t> known_;
};

bool counts_bytes(TraceStep step) {
  return step != TraceStep::kCreateQp && step != TraceStep::kModifyQp &&
         step != TraceStep::kDestroyQp && step != TraceStep::kRetransmit;
}

// One end for each process, whose shards are several traces.
TraceRecords gather(const std::vector<RecordedTrace>& traces, TraceDocument& document) {
  TraceRecords all;
  std::map<std::uint32_t, std::int32_t> by_pid;
  for (const RecordedTrace& trace : traces) {
    const auto [at, is_new] =
        by_pid.emplace(trace.pid, static_cast<std::int32_t>(document.ends.size()));
    const std::int32_t end = at->second;
    if (is_new) {
      document.ends.push_back({.name = trace.program, .pid = trace.pid, .device{}, .address{}});
      all.addresses.emplace_back();
    }
    TraceEnd& process = document.ends[static_cast<std::size_t>(end)];
    if (process.device.empty()) {
      process.device = trace.device;
      process.address = trace.address;
    }
    auto& addresses = all.addresses[static_cast<std::size_t>(end)];
    addresses.insert(addresses.end(), trace.addresses.begin(), trace.addresses.end());
    for (const TraceRecord& record : trace.records) {
      all.events.push_back({.record = record, .end = end});
    }
    if (trace.lost > 0) {
      document.notes.push_back(fmt::format("{} (pid {}): the trace was full, {} steps are missing",
                                           trace.program, trace.pid, trace.lost));
    }
  }
  // Records of one process may be slightly out of order: a thread read the clock before another.
  std::ranges::stable_sort(all.events, {},
                           [](const RecordedEvent& event) { return event.record.at; });
  return all;
}

void add_notes(TraceDocument& document) {
  for (const TraceQp& qp : document.qps) {
    if (qp.traced >= qp.messages) continue;
    document.notes.push_back(fmt::format("QP {:#x}: the first {} of {} messages are shown", qp.qpn,
                                         qp.traced, qp.messages));
  }
}

}  // namespace

TraceDocument make_trace_document(std::string title, const std::vector<RecordedTrace>& traces) {
  TraceDocument document;
  document.title = std::move(title);
  TraceRecords all = gather(traces, document);
  document.qps = find_qps(all);
  pair_packets(all, document.qps);
  document.messages = group_messages(all, document.qps);
  add_notes(document);

  Words opcodes{document.opcodes};
  Words details{document.details};
  const std::uint64_t start = all.events.empty() ? 0 : all.events.front().record.at;
  for (TraceMessage& message : document.messages) {
    message.begin -= start;
    message.finish -= start;
  }
  document.events.reserve(all.events.size());
  for (const RecordedEvent& event : all.events) {
    const TraceRecord& record = event.record;
    document.events.push_back(
        {.t = record.at - start,
         .end = event.end,
         .step = record.step,
         .qpn = record.qpn == 0 ? -1 : std::int64_t{record.qpn},
         .psn = record.psn == TraceRecord::kNoPsn ? -1 : std::int64_t{record.psn},
         .bytes = counts_bytes(record.step) ? std::int64_t{record.bytes} : -1,
         .message = event.message,
         .packet = event.packet,
         .opcode = opcodes.index_of(host::opcode_text(record)),
         .detail = details.index_of(host::detail_text(record.detail))});
  }
  return document;
}

}  // namespace nerve::cli
