#include "cli/trace_grouping.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "host/diagnostics/trace_names.h"
#include "wire/syndrome.h"

namespace nerve::cli {
namespace {

using nic::TraceRecord;
using nic::TraceStep;

constexpr std::int32_t kNone = -1;

using QpKey = std::pair<std::int32_t, std::uint32_t>;  // end and QPN

// The PSNs of a QP's messages, as distances from the first one.
class PsnRanges {
 public:
  void add(std::uint32_t first, std::uint32_t count, std::int32_t message) {
    if (ranges_.empty()) base_ = first;
    ranges_[distance(first)] = {count, message};
  }
  [[nodiscard]] std::int32_t find(std::uint32_t psn) const {
    auto at = ranges_.upper_bound(distance(psn));
    if (at == ranges_.begin()) return kNone;
    --at;
    return distance(psn) - at->first < at->second.first ? at->second.second : kNone;
  }
  // Calls `visit` with each message that this PSN acknowledges and that was not visited before.
  template <class Visit>
  void acknowledge(std::uint32_t psn, Visit visit) {
    constexpr std::uint32_t kHalf = 1U << 23U;
    const std::uint32_t end = distance(psn) + 1;
    if (distance(psn) >= kHalf) return;
    for (auto at = ranges_.lower_bound(acknowledged_); at != ranges_.end(); ++at) {
      if (at->first + at->second.first > end) break;
      visit(at->second.second);
      acknowledged_ = at->first + 1;
    }
  }
  [[nodiscard]] std::uint32_t distance(std::uint32_t psn) const {
    return (psn - base_) & 0xff'ffffU;
  }

 private:
  std::uint32_t base_{};
  std::uint32_t acknowledged_{};
  std::map<std::uint32_t, std::pair<std::uint32_t, std::int32_t>> ranges_;
};

// What is known of a message besides what the document has.
struct Progress {
  bool posted{};
  bool completed{};
  bool acknowledged{};
  std::uint64_t last{};          // the time of its last event
  std::set<std::uint32_t> made;  // PSNs of its packets
};

class Grouper {
 public:
  Grouper(TraceRecords& all, const std::vector<TraceQp>& qps) : all_{all} {
    for (const TraceQp& qp : qps) qps_[{qp.end, qp.qpn}] = &qp;
  }

  std::vector<TraceMessage> group() {
    for (std::size_t i = 0; i < all_.events.size(); ++i) {
      RecordedEvent& event = all_.events[i];
      event.message = message_of(event, i);
      if (event.message != kNone) note(event);
    }
    for (std::size_t i = 0; i < messages_.size(); ++i) finish(messages_[i], progress_[i]);
    return std::move(messages_);
  }

  [[nodiscard]] std::uint64_t posted_by(const QpKey& key) const {
    const auto at = posted_.find(key);
    return at != posted_.end() ? at->second : 0;
  }

 private:
  using Numbered = std::tuple<std::int32_t, std::uint32_t, std::uint32_t>;  // a QP's message
  using Posted = std::tuple<std::int32_t, std::uint32_t, std::uint64_t>;    // by wr_id

  std::int32_t make(const RecordedEvent& event) {
    const TraceRecord& record = event.record;
    TraceMessage message{.end = event.end,
                         .qpn = record.qpn,
                         .op = host::operation_text(record),
                         .bytes = record.bytes,
                         .begin = record.at,
                         .finish = record.at,
                         .status{}};
    if (const TraceQp* qp = find(event.end, record.qpn)) {
      message.peer_end = qp->peer_end;
      message.peer_qpn = qp->peer_qpn;
    }
    messages_.push_back(std::move(message));
    progress_.emplace_back();
    return static_cast<std::int32_t>(messages_.size() - 1);
  }

  [[nodiscard]] const TraceQp* find(std::int32_t end, std::uint32_t qpn) const {
    const auto at = qps_.find({end, qpn});
    return at != qps_.end() ? at->second : nullptr;
  }

  // The message that the QP sent under this number.
  std::int32_t sent(const RecordedEvent& event, bool may_make) {
    const TraceRecord& record = event.record;
    if (record.message == TraceRecord::kNoMessage) return kNone;
    const Numbered key{event.end, record.qpn, record.message};
    if (const auto at = sent_.find(key); at != sent_.end()) return at->second;
    if (!may_make) return kNone;
    return sent_[key] = make(event);
  }
  std::int32_t in_own_range(const RecordedEvent& event) {
    return ranges_[{event.end, event.record.qpn}].find(event.record.psn);
  }
  std::int32_t in_peers_range(const RecordedEvent& event) {
    const TraceQp* qp = find(event.end, event.record.qpn);
    if (qp == nullptr || qp->peer_end < 0) return kNone;
    return ranges_[{qp->peer_end, static_cast<std::uint32_t>(qp->peer_qpn)}].find(event.record.psn);
  }
  // A packet of the peer, by its PSN.
  std::int32_t arrived(const RecordedEvent& event) {
    const auto at = arrived_.find({event.end, event.record.qpn, event.record.psn});
    return at != arrived_.end() ? at->second : in_peers_range(event);
  }

  std::int32_t of_packet(const RecordedEvent& event) {
    if (const auto at = packets_.find(event.packet); event.packet >= 0 && at != packets_.end()) {
      return at->second;
    }
    if (event.record.step == TraceStep::kPacketDropped) return kNone;
    return host::is_response(event.record) ? in_own_range(event) : in_peers_range(event);
  }

  // A step of the responder, which numbers the messages it receives.
  std::int32_t received(const RecordedEvent& event) {
    const TraceRecord& record = event.record;
    std::int32_t message = arrived(event);
    if (record.message == TraceRecord::kNoMessage) return message;
    const Numbered key{event.end, record.qpn, record.message};
    const auto known = received_.find(key);
    if (message == kNone && known != received_.end()) return known->second;
    if (message == kNone) {  // its sender is not traced
      message = make(event);
      messages_.back().op = "RECV";
      messages_.back().status = "received";
    }
    return received_[key] = message;
  }

  std::int32_t completed(const RecordedEvent& event) {
    const TraceRecord& record = event.record;
    const bool receive = host::is_receive(record);
    std::int32_t message = kNone;
    if (!receive) {
      message = sent(event, true);
    } else if (const auto at = received_.find({event.end, record.qpn, record.message});
               at != received_.end()) {
      message = at->second;
      auto& waiting = receives_[{event.end, record.qpn, record.id}];
      if (!waiting.empty()) {
        all_.events[waiting.front()].message = message;
        waiting.pop_front();
      }
    }
    unpolled_[{receive, {event.end, record.qpn, record.id}}].push_back(message);
    return message;
  }

  std::int32_t polled(const RecordedEvent& event) {
    const TraceRecord& record = event.record;
    auto& waiting = unpolled_[{host::is_receive(record), {event.end, record.qpn, record.id}}];
    if (waiting.empty()) return kNone;
    const std::int32_t message = waiting.front();
    waiting.pop_front();
    return message;
  }

  std::int32_t message_of(RecordedEvent& event, std::size_t index) {
    const TraceRecord& record = event.record;
    const QpKey qp{event.end, record.qpn};
    switch (record.step) {
      case TraceStep::kPost: {
        const std::int32_t message = sent(event, true);
        if (message != kNone && !std::exchange(progress_[at(message)].posted, true)) ++posted_[qp];
        return message;
      }
      case TraceStep::kFetch: {
        const std::int32_t message = sent(event, true);
        ranges_[qp].add(record.psn, record.peer, message);
        return message;
      }
      case TraceStep::kDoorbell:
      case TraceStep::kDirect:
      case TraceStep::kRetransmit:
        return sent(event, false);
      case TraceStep::kPacketMade:
      case TraceStep::kAckSent:
      case TraceStep::kNakSent:
      case TraceStep::kPacketSent: {
        const bool own = record.message != TraceRecord::kNoMessage;
        const std::int32_t message = own ? sent(event, false) : arrived(event);
        if (event.packet >= 0) packets_[event.packet] = message;
        return message;
      }
      case TraceStep::kPacketDropped:
        return of_packet(event);
      case TraceStep::kPacketReceived: {
        const std::int32_t message = of_packet(event);
        if (!host::is_response(record)) arrived_[{event.end, record.qpn, record.psn}] = message;
        return message;
      }
      case TraceStep::kChecked:
      case TraceStep::kRefused:
      case TraceStep::kPlaced:
        if (host::is_response(record)) return in_own_range(event);
        return received(event);
      case TraceStep::kAckReceived:
        acknowledge(event);
        return in_own_range(event);
      case TraceStep::kNakReceived:
        return in_own_range(event);
      case TraceStep::kCompletion:
        return completed(event);
      case TraceStep::kPolled:
        return polled(event);
      case TraceStep::kPostReceive:
        receives_[{event.end, record.qpn, record.id}].push_back(index);
        return kNone;
      default:
        return kNone;
    }
  }

  void acknowledge(const RecordedEvent& event) {
    ranges_[{event.end, event.record.qpn}].acknowledge(
        event.record.psn,
        [this](std::int32_t message) { progress_[at(message)].acknowledged = true; });
  }

  void note(const RecordedEvent& event) {
    const TraceRecord& record = event.record;
    TraceMessage& message = messages_[at(event.message)];
    Progress& progress = progress_[at(event.message)];
    progress.last = std::max(progress.last, record.at);
    const bool own = event.end == message.end && record.qpn == message.qpn;
    if (!own || host::is_receive(record)) return;
    if (record.step == TraceStep::kPacketMade && record.message != TraceRecord::kNoMessage &&
        !progress.made.insert(record.psn).second) {
      ++message.retransmitted;
    }
    if (record.step == TraceStep::kCompletion) {
      progress.completed = true;
      message.status = host::detail_text(record.detail);
    }
    if (record.step == TraceStep::kCompletion || record.step == TraceStep::kPolled) {
      message.finish = record.at;
    }
  }

  void finish(TraceMessage& message, const Progress& progress) const {
    if (progress.completed) return;
    message.finish = std::max(message.begin, progress.last);
    if (!message.status.empty()) return;
    const TraceQp* qp = find(message.end, message.qpn);
    const bool unreliable = qp != nullptr && (qp->type == "UC" || qp->type == "UD");
    message.status = progress.acknowledged ? "success" : unreliable ? "sent" : "unfinished";
  }

  static std::size_t at(std::int32_t message) { return static_cast<std::size_t>(message); }

  TraceRecords& all_;
  std::map<QpKey, const TraceQp*> qps_;
  std::vector<TraceMessage> messages_;
  std::vector<Progress> progress_;  // of each message
  std::map<QpKey, PsnRanges> ranges_;
  std::map<QpKey, std::uint64_t> posted_;
  std::map<Numbered, std::int32_t> sent_;
  std::map<Numbered, std::int32_t> received_;
  std::map<Numbered, std::int32_t> arrived_;  // by PSN
  std::map<std::int32_t, std::int32_t> packets_;
  std::map<std::pair<bool, Posted>, std::deque<std::int32_t>> unpolled_;
  std::map<Posted, std::deque<std::size_t>> receives_;
};

}  // namespace

std::vector<TraceMessage> group_messages(TraceRecords& all, std::vector<TraceQp>& qps) {
  Grouper grouper{all, qps};
  std::vector<TraceMessage> messages = grouper.group();
  for (TraceQp& qp : qps) qp.traced = grouper.posted_by({qp.end, qp.qpn});
  return messages;
}

}  // namespace nerve::cli
