#include "tests/seal/session_pair.h"

#include <algorithm>

namespace nerve::seal {

SessionPair::SessionPair(const PairSetup& setup) : crypto_{setup.seed, ledger_} {
  Credentials first = Preshared{};
  Credentials second = Preshared{};
  if (!setup.same_key) std::get<Preshared>(second).key.bytes()[0] = std::byte{1};
  if (setup.pinned) {
    Pinned caller;
    Pinned answerer;
    crypto_.fill_random(caller.own.bytes());
    crypto_.fill_random(answerer.own.bytes());
    caller.peer = crypto_.public_key(answerer.own);
    answerer.peer = crypto_.public_key(caller.own);
    if (!setup.same_key) crypto_.fill_random(answerer.own.bytes());
    first = caller;
    second = answerer;
  }
  const Endpoint caller{.gid = kCallerGid, .qpn = Qpn{5}};
  const Endpoint answerer{.gid = kAnswererGid, .qpn = Qpn{4}};
  ends_.push_back({.starts = setup.caller_starts,
                   .setup = {.own = caller,
                             .peer = answerer,
                             .credentials = first,
                             .suites = setup.caller_suites,
                             .limits = setup.limits,
                             .reveals_secrets = setup.reveals_secrets},
                   .session{}});
  ends_.push_back({.starts = setup.answerer_starts,
                   .setup = {.own = answerer,
                             .peer = caller,
                             .credentials = second,
                             .suites = setup.answerer_suites,
                             .limits = setup.limits,
                             .reveals_secrets = setup.reveals_secrets},
                   .session{}});
}

wire::Flow SessionPair::flow_to(std::size_t end) const {
  return {.source = ends_[1 - end].setup.own.gid, .destination = ends_[end].setup.own.gid};
}

void SessionPair::run_for(Duration time) {
  const Time until = now_ + time;
  for (;;) {
    step();
    Time next = until;
    for (const End& end : ends_) {
      if (!end.session) next = std::min(next, began_ + end.starts);
      if (end.session && end.session->deadline()) next = std::min(next, *end.session->deadline());
    }
    for (const InFlight& flying : flying_) next = std::min(next, flying.arrives);
    if (next >= until) break;
    now_ = std::max(next, now_);
  }
  now_ = until;
}

void SessionPair::step() {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    End& end = ends_[i];
    if (!end.session && now_ >= began_ + end.starts) {
      end.session = std::make_unique<Session>(crypto_, end.setup, now_);
    }
    if (!end.session) continue;
    std::vector<std::byte> packet(Session::kMaxPacket);
    while (const std::size_t size = end.session->next_packet(now_, packet)) {
      packet.resize(size);
      if (!on_send || on_send(sent_, packet)) flying_.push_back({now_ + kDelay, 1 - i, packet});
      ++sent_;
      packet.assign(Session::kMaxPacket, {});
    }
  }
  while (!flying_.empty() && flying_.front().arrives <= now_) {
    InFlight arrived = std::move(flying_.front());
    flying_.pop_front();
    deliver(arrived.to, std::move(arrived.packet));
  }
}

void SessionPair::deliver(std::size_t to, std::vector<std::byte> packet) {
  if (!ends_[to].session) return;
  wire::Frame frame;
  wire::Piece piece;
  (void)ends_[to].session->receive(flow_to(to), packet, now_, frame, piece);
}

std::vector<std::byte> SessionPair::seal(std::size_t from, std::uint32_t size) {
  const std::vector<std::byte> payload(size, std::byte{0x77});
  const wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(payload.data()),
                          .length = size};
  wire::Frame frame{.flow = flow_to(1 - from), .headers = {.bth = {.opcode = 0x04}}};
  frame.headers.bth.pad = wire::pad_for(size);
  frame.payload = {&piece, 1};
  frame.payload_length = size;
  std::vector<std::byte> out(sealed_size(frame));
  return ends_[from].session->seal(frame, now_, out) ? out : std::vector<std::byte>{};
}

bool SessionPair::passes_both_ways() {
  for (std::size_t from = 0; from < 2; ++from) {
    if (!ends_[from].session || !ends_[from].session->is_open()) return false;
    std::vector<std::byte> packet = seal(from, 100);
    wire::Frame frame;
    wire::Piece piece;
    const Opening opening =
        ends_[1 - from].session->receive(flow_to(1 - from), packet, now_, frame, piece);
    if (opening != Opening::kGood || frame.payload_length != 100) return false;
  }
  return ledger_.violations.empty();
}

}  // namespace nerve::seal
