#include "sim/fluid/flow_network.h"

#include <algorithm>

#include "base/check.h"

namespace nerve::sim {
namespace {

std::vector<std::uint32_t> shares_of(const std::vector<FlowTransport>& transports) {
  std::vector<std::uint32_t> shares;
  shares.reserve(transports.size());
  for (const FlowTransport& one : transports) shares.push_back(one.share_used);
  return shares;
}

}  // namespace

FlowNetwork::FlowNetwork(Clockwork& clockwork, Fabric& fabric,
                         std::vector<FlowTransport> transports)
    : clockwork_{clockwork},
      fabric_{fabric},
      transports_{std::move(transports)},
      paths_{fabric, rates_, shares_of(transports_)},
      stream_of_(fabric.graph().nodes.size()),
      cores_(fabric.graph().nodes.size()),
      largest_(transports_.size()) {}

void FlowNetwork::schedule(Time when, What what, std::uint32_t argument) {
  clockwork_.wheel.at(when, Happening::kFlow, static_cast<std::uint32_t>(what), argument);
}

Joined FlowNetwork::join(NodeId a, NodeId b) {
  CHECK(a != b);
  const auto next = [&](NodeId node) {
    return QpNumber{static_cast<std::uint32_t>(stream_of_[node.value()].size())};
  };
  const Joined made{next(a), next(b)};
  const auto add = [&](NodeId from, NodeId to, QpNumber qp, QpNumber peer) {
    stream_of_[from.value()].push_back(rates_.add_flow());
    Stream& stream = streams_.emplace_back();
    stream.from = from;
    stream.to = to;
    stream.qp = qp;
    stream.peer = peer;
  };
  add(a, b, made.mine, made.theirs);
  add(b, a, made.theirs, made.mine);
  return made;
}

bool FlowNetwork::write(NodeId from, const NicMessage& message) {
  const std::uint32_t number = stream_of_[from.value()][message.qp.value()];
  Stream& stream = streams_[number];
  if (stream.broken) return false;
  if (free_pieces_.empty()) {
    free_pieces_.push_back(static_cast<std::uint32_t>(pieces_.size()));
    pieces_.emplace_back();
  }
  const std::uint32_t piece = free_pieces_.back();
  free_pieces_.pop_back();
  pieces_[piece] = {message.message, message.immediate, message.bytes, number, kNone};
  std::uint32_t& largest = largest_[fabric_.graph().nodes[from.value()].network];
  largest = std::max(largest, message.bytes);
  ++counters_.messages;
  counters_.sent_bytes += message.bytes;
  counters_.packets += transport_of(stream).packets_of(message.bytes);
  if (stream.head != kNone) {
    pieces_[stream.last].next = piece;
    stream.last = piece;
    return true;
  }
  stream.head = stream.last = piece;
  start(number);
  return true;
}

// A TCP host first spends the time of a system call and of a batch.
void FlowNetwork::start(std::uint32_t number) {
  load_head(streams_[number]);
  const FlowTransport& transport = transport_of(streams_[number]);
  if (!transport.tcp) return begin(number);
  const std::uint32_t on_cable = transport.payload + transport.around + gap_of(streams_[number]);
  const Duration wait = transport.tcp->per_message + sending_cost(*transport.tcp, on_cable).batch;
  schedule(clockwork_.now() + wait, What::kBegin, number);
}

void FlowNetwork::load_head(Stream& stream) {
  stream.left += work_of(stream, pieces_[stream.head]);
  stream.since = clockwork_.now();
}

void FlowNetwork::begin(std::uint32_t number) {
  streams_[number].since = clockwork_.now();
  if (!find_path(number)) return stall(number);
  rates_.begin(number);
  request_settle();
  // It has ended at this same instant, so its rate may remain as it is.
  if (rates_.rate(number) > 0) arm(number);
}

// Once for all changes of an instant: the event comes after those that are already scheduled.
void FlowNetwork::request_settle() {
  if (settle_set_) return;
  settle_set_ = true;
  schedule(clockwork_.now(), What::kSettle, 0);
}

void FlowNetwork::settle() {
  if (paths_.version() != version_) {
    divide_carried();
    find_paths_again();
    version_ = paths_.version();
  }
  settle_set_ = false;
  ++counters_.settled;
  compute_rates();
}

void FlowNetwork::compute_rates() {
  rates_.settle();
  for (const FairRates::Change& change : rates_.changed_links()) {
    carry(change.number, change.before);
  }
  for (const FairRates::Change& change : rates_.changed_flows()) {
    advance(change.number, change.before);
    if (rates_.rate(change.number) > 0) arm(change.number);
  }
}

void FlowNetwork::carry(FairRates::Number link, std::int64_t load) {
  if (link >= carried_.size()) carried_.resize(rates_.links());
  Carried& carried = carried_[link];
  const Time now = clockwork_.now();
  carried.kilobits_ps +=
      static_cast<double>(load) * static_cast<double>((now - carried.since).count());
  carried.since = now;
}

void FlowNetwork::divide_carried() {
  carried_.resize(rates_.links());
  for (const FlowPaths::Division& one : paths_.take_divisions()) {
    carry(one.from, rates_.load(one.from));
    Carried& from = carried_[one.from];
    carried_[one.made] = {from.since, from.kilobits_ps * static_cast<double>(one.count) / one.of};
    from.kilobits_ps -= carried_[one.made].kilobits_ps;
  }
}

// Accounts for what the stream has sent at this rate.
void FlowNetwork::advance(std::uint32_t number, std::int64_t rate) {
  Stream& stream = streams_[number];
  const Time now = clockwork_.now();
  stream.left -= rate * (now - stream.since).count();
  stream.since = now;
}

// Schedules the end of the head. An event that is already scheduled and not later will do: it
// finds that it is early and schedules the next.
void FlowNetwork::arm(std::uint32_t number) {
  Stream& stream = streams_[number];
  const std::int64_t rate = rates_.rate(number);
  const std::int64_t left = std::max<std::int64_t>(stream.left, 0);
  stream.due = stream.since + Duration{(left + rate - 1) / rate};
  if (stream.event_set && stream.event <= stream.due) return;
  stream.event_set = true;
  stream.event = stream.due;
  schedule(stream.due, What::kLeft, number);
}

void FlowNetwork::happen(std::uint32_t subject, std::uint32_t argument, Time when) {
  switch (static_cast<What>(subject)) {
    case What::kSettle:
      return settle();
    case What::kLeft:
      return left(argument, when);
    case What::kArrived:
      return arrived(argument);
    case What::kAcknowledged:
      return acknowledged(argument);
    case What::kBegin:
      if (!streams_[argument].broken) begin(argument);
      return;
    case What::kRetry:
      return retry(argument);
    case What::kResend:
      return resend(argument);
  }
}

void FlowNetwork::left(std::uint32_t number, Time when) {
  Stream& stream = streams_[number];
  if (!stream.event_set || when != stream.event) return;  // replaced by an earlier one
  stream.event_set = false;
  const std::int64_t rate = rates_.rate(number);
  if (stream.head == kNone || stream.stalled || rate == 0) return;
  if (when < stream.due) return arm(number);
  advance(number, rate);
  const std::uint32_t piece = stream.head;
  schedule(when + tail_of(stream, pieces_[piece]), What::kArrived, piece);
  stream.head = pieces_[piece].next;
  stream.tries = 0;
  stream.follows = stream.head != kNone;
  if (stream.follows) {
    load_head(stream);
    return arm(number);
  }
  stream.left = 0;
  rates_.end(number);
  request_settle();
}

void FlowNetwork::arrived(std::uint32_t number) {
  const Piece piece = pieces_[number];
  const Stream& stream = streams_[piece.stream];
  counters_.delivered_bytes += piece.bytes;
  acknowledge(number);
  user_->received(stream.to, stream.peer, piece.immediate);
}

// An ACK takes the path of the other direction. If that is down, the sender retransmits after its
// timeout.
void FlowNetwork::acknowledge(std::uint32_t number) {
  const std::uint32_t stream = pieces_[number].stream;
  const Time now = clockwork_.now();
  if (!degraded_ || is_up(streams_[stream ^ 1U])) {
    return schedule(now + streams_[stream].acknowledgement, What::kAcknowledged, number);
  }
  schedule(now + transport_of(streams_[stream]).retry_after, What::kResend, number);
}

void FlowNetwork::resend(std::uint32_t number) {
  const std::uint32_t stream = pieces_[number].stream;
  if (streams_[stream].broken) return;
  ++counters_.timeouts;
  if (++streams_[stream].tries > transport_of(streams_[stream]).retries) return fail(stream);
  acknowledge(number);
}

void FlowNetwork::acknowledged(std::uint32_t number) {
  const Piece piece = pieces_[number];
  streams_[piece.stream].tries = 0;
  free_pieces_.push_back(number);
  user_->sent(streams_[piece.stream].from, piece.message);
}

// The packets of the stream are lost. Its sender notices after the timeout, and retries.
void FlowNetwork::stall(std::uint32_t number) {
  Stream& stream = streams_[number];
  stream.stalled = true;
  schedule(clockwork_.now() + transport_of(stream).retry_after, What::kRetry, number);
}

void FlowNetwork::retry(std::uint32_t number) {
  Stream& stream = streams_[number];
  if (stream.broken) return;
  ++counters_.timeouts;
  stream.stalled = false;
  if (find_path(number)) return begin(number);
  if (++stream.tries > transport_of(stream).retries) return fail(number);
  stall(number);
}

// Both directions of the connection are in error.
void FlowNetwork::fail(std::uint32_t number) {
  for (const std::uint32_t end : {number, number ^ 1U}) {
    Stream& stream = streams_[end];
    stream.broken = true;
    rates_.end(end);
    for (; stream.head != kNone; stream.head = pieces_[stream.head].next) {
      free_pieces_.push_back(stream.head);
    }
  }
  request_settle();
  const Stream& stream = streams_[number];
  user_->failed(stream.from, stream.qp, "no answer to any of its packets");
}

void FlowNetwork::cables_changed() {
  paths_.update_capacities();
  degraded_ = std::ranges::any_of(fabric_.ports(), [](const Port& port) { return !port.up; });
  request_settle();
}

// Finds the paths of all active streams again. Streams whose path is down stall.
void FlowNetwork::find_paths_again() {
  std::vector<std::uint32_t> moved;
  for (std::uint32_t number = 0; number < streams_.size(); ++number) {
    if (!rates_.active(number) || streams_[number].version == paths_.version()) continue;
    rates_.end(number);
    moved.push_back(number);
  }
  compute_rates();  // a flow must leave its links before it gets others
  // A new path may divide links, and so make paths found before it out of date.
  for (std::uint32_t version = ~paths_.version(); version != paths_.version();) {
    version = paths_.version();
    for (const std::uint32_t number : moved) (void)find_path(number);
  }
  divide_carried();
  for (const std::uint32_t number : moved) begin(number);
}

}  // namespace nerve::sim
