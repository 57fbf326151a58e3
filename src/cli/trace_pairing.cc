#include "cli/trace_pairing.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "host/diagnostics/trace_names.h"

namespace nerve::cli {
namespace {

using nic::TraceRecord;
using nic::TraceStep;

constexpr std::uint32_t kManagementQpn = 1;

// What a packet shows of itself at both ends.
using PacketKey = std::tuple<std::uint32_t, std::uint32_t, std::uint8_t, std::uint64_t>;

// All processes of a host share QP1; the transaction and the kind of the message tell its
// datagrams apart.
PacketKey key_of(const TraceRecord& record, std::uint32_t destination) {
  if (destination != kManagementQpn) return {destination, record.psn, record.opcode, 0};
  return {destination, record.detail, record.opcode, record.id};
}

struct Seen {
  std::uint32_t peer{};
  std::uint64_t address{};
  std::uint64_t messages{};
  std::string type;
};

}  // namespace

bool TraceRecords::owns(std::int32_t end, std::uint64_t address) const {
  const auto& own = addresses[static_cast<std::size_t>(end)];
  return std::ranges::find(own, address) != own.end();
}

std::vector<TraceQp> find_qps(const TraceRecords& all) {
  std::map<std::pair<std::int32_t, std::uint32_t>, Seen> seen;
  for (const RecordedEvent& event : all.events) {
    const TraceRecord& record = event.record;
    if (record.qpn == 0) continue;
    Seen& qp = seen[{event.end, record.qpn}];
    if (record.step == TraceStep::kModifyQp && record.peer != 0) {
      qp.peer = record.peer;
      qp.address = record.id;
    } else if (record.step == TraceStep::kCreateQp || record.step == TraceStep::kDestroyQp) {
      qp.type = host::qp_type_text(record.detail);
      qp.messages = std::max<std::uint64_t>(qp.messages, record.message);
    } else if (record.step == TraceStep::kPost) {
      qp.messages = std::max<std::uint64_t>(qp.messages, std::uint64_t{record.message} + 1);
    }
  }
  std::vector<TraceQp> qps;
  for (const auto& [key, qp] : seen) {
    TraceQp& made = qps.emplace_back(
        TraceQp{.end = key.first, .qpn = key.second, .type = qp.type, .messages = qp.messages});
    if (key.second == kManagementQpn) made.type = "GSI";
    if (qp.peer == 0) continue;
    made.peer_qpn = qp.peer;
    for (const auto& [other, peer] : seen) {
      const bool answers = peer.peer == 0 || peer.peer == key.second;
      if (other.second == qp.peer && answers && all.owns(other.first, qp.address)) {
        made.peer_end = other.first;
      }
    }
  }
  return qps;
}

void pair_packets(TraceRecords& all, const std::vector<TraceQp>& qps) {
  std::map<PacketKey, std::deque<std::size_t>> under_way;
  std::int32_t next = 0;
  const auto take = [&](std::deque<std::size_t>& sent, auto matches, bool newest) {
    auto found = sent.end();
    for (auto at = sent.begin(); at != sent.end(); ++at) {
      if (!matches(all.events[*at])) continue;
      found = at;
      if (!newest) break;
    }
    if (found == sent.end()) return -1;
    const std::int32_t packet = all.events[*found].packet;
    sent.erase(found);
    return packet;
  };
  for (std::size_t i = 0; i < all.events.size(); ++i) {
    RecordedEvent& event = all.events[i];
    const TraceRecord& record = event.record;
    if (record.step == TraceStep::kPacketSent) {
      event.packet = next++;
      under_way[key_of(record, record.peer)].push_back(i);
    } else if (record.step == TraceStep::kPacketDropped) {
      // It was sent a moment ago, by this end.
      PacketKey key = key_of(record, record.peer);
      if (record.peer != kManagementQpn) {
        event.packet = take(
            under_way[key], [&](const RecordedEvent& sent) { return sent.end == event.end; }, true);
        continue;
      }
      for (auto& [other, sent] : under_way) {
        if (event.packet >= 0 || std::get<0>(other) != kManagementQpn) continue;
        event.packet = take(
            sent,
            [&](const RecordedEvent& one) {
              return one.end == event.end && one.record.psn == record.psn;
            },
            true);
      }
    } else if (record.step == TraceStep::kPacketReceived) {
      const auto matches = [&](const RecordedEvent& sent) {
        if (record.qpn == kManagementQpn) return sent.end != event.end || all.addresses.size() == 1;
        return sent.record.qpn == record.peer && all.owns(event.end, sent.record.id);
      };
      event.packet = take(under_way[key_of(record, record.qpn)], matches, false);
    }
  }
  // A loss names the QP that the packet was for. Its sender is the one that sent it.
  std::map<std::int32_t, std::uint32_t> senders;
  for (const RecordedEvent& event : all.events) {
    if (event.record.step == TraceStep::kPacketSent) senders[event.packet] = event.record.qpn;
  }
  for (RecordedEvent& event : all.events) {
    if (event.record.step != TraceStep::kPacketDropped) continue;
    if (const auto at = senders.find(event.packet); at != senders.end()) {
      event.record.qpn = at->second;
      continue;
    }
    const auto qp = std::ranges::find_if(qps, [&](const TraceQp& one) {
      return one.end == event.end && one.peer_qpn == std::int64_t{event.record.peer};
    });
    if (qp != qps.end()) event.record.qpn = qp->qpn;
  }
}

}  // namespace nerve::cli
