#include "host/seal/seal_table.h"

#include <algorithm>
#include <array>

#include "host/diagnostics/log.h"
#include "host/seal/suites.h"
#include "wire/describe.h"

namespace nerve::host {
namespace {

using std::chrono::milliseconds;

// How long a peer that need not seal is waited for. A peer of ours answers within a millisecond
// once its QP is ready.
constexpr Duration kPreferPatience = milliseconds{300};
// After this long the QP's retries may run out. The handshake goes on.
constexpr Duration kRequirePatience = milliseconds{3000};

constexpr Qpn kManagement{1};

constexpr Duration patience_with(SealMode mode) {
  return mode == SealMode::kPrefer ? kPreferPatience : kRequirePatience;
}

}  // namespace

std::size_t SealTable::PeerHash::operator()(const seal::Endpoint& end) const {
  const std::uint64_t upper = load_be<8>(end.gid.bytes, 0);
  const std::uint64_t lower = load_be<8>(end.gid.bytes, 8);
  return (upper * 31 + lower) * 0x9e37'79b9'7f4a'7c15 + end.qpn.value();
}

SealTable::Entry* SealTable::find(Qpn own) const {
  const auto found = entries_.find(own.value());
  return found != entries_.end() ? found->second.get() : nullptr;
}

SealTable::Entry* SealTable::find(const wire::Gid& destination, Qpn qpn) const {
  const auto found = by_peer_.find({.gid = destination, .qpn = qpn});
  return found != by_peer_.end() ? found->second : nullptr;
}

void SealTable::connect(const seal::Endpoint& own, const seal::Endpoint& peer, Time now) {
  disconnect(own.qpn);
  const SealMode mode = active() ? setup_->policy.mode_for(peer.gid) : SealMode::kOff;
  if (mode == SealMode::kOff || setup_->crypto == nullptr) return;
  const auto credentials = setup_->keys->for_peer(peer.gid);
  if (!credentials) {
    log(LogLevel::kWarn, "the file with keys has none for %s: %s",
        wire::to_string(peer.gid).c_str(),
        mode == SealMode::kRequire ? "its packets are dropped" : "its packets are not sealed");
    return;
  }
  const seal::SessionSetup setup{.own = own,
                                 .peer = peer,
                                 .credentials = *credentials,
                                 .suites = setup_->suites,
                                 .reveals_secrets = setup_->key_log != nullptr,
                                 .memory = &memory_.resource()};
  auto entry = make_secret<Entry>(memory_, *setup_->crypto, setup, mode, now);
  by_peer_.insert_or_assign(peer, entry.get());
  if (entry->session.is_open()) {
    settle(*entry, State::kOpen);
  } else {
    speak(*entry);
  }
  entries_.insert_or_assign(own.qpn.value(), std::move(entry));
}

void SealTable::disconnect(Qpn own) {
  const auto found = entries_.find(own.value());
  if (found == entries_.end()) return;
  Entry* const entry = found->second.get();
  std::erase(speaking_, entry);
  const auto peer = by_peer_.find(entry->peer);
  if (peer != by_peer_.end() && peer->second == entry) by_peer_.erase(peer);
  entries_.erase(found);
  stopped_waiting_ = true;
}

void SealTable::leave() {
  mads.leave();
  datagrams_.leave();
  speaking_.clear();
  by_peer_.clear();
  entries_.clear();
  setup_.reset();
}

void SealTable::speak(Entry& entry) {
  if (!std::exchange(entry.speaks, true)) speaking_.push_back(&entry);
}

link::Sealing::Way SealTable::way_of(const wire::Flow& flow, const wire::Bth& bth) {
  if (Entry* const entry = find(flow.destination, bth.dest_qp)) {
    switch (entry->state) {
      case State::kOpen:
        return {.sealer = &entry->session};
      case State::kPlain:
        return {};
      case State::kOpening:
      case State::kRefused:
        return {.may_send = false};
    }
  }
  // Management datagrams are signed (MadSeal).
  if (bth.dest_qp == kManagement || !setup_->policy.must_seal(flow.destination)) return {};
  const bool datagram = wire::transport_of(bth.opcode) == wire::Transport::kUd;
  seal::Sealer* const sealer = datagram ? datagrams_.sealer_for(flow) : nullptr;
  if (datagram && sealer == nullptr) {
    warn_of(flow.destination, flow.destination.is_multicast()
                                  ? "gets no datagrams: those of a multicast group are sealed with "
                                    "a preshared key (psk), and seal_key has none"
                                  : "gets no datagrams: they must be sealed, and seal_key has no "
                                    "key for it");
  }
  return {.may_send = sealer != nullptr, .sealer = sealer};
}

seal::Opener* SealTable::opener_of(const wire::Flow& flow, Bytes packet) {
  if (seal::is_datagram(packet)) return &datagrams_;
  const auto bth = wire::Bth::decode(packet);
  Entry* const entry = bth ? find(bth->dest_qp) : nullptr;
  if (entry == nullptr || !(entry->peer.gid == flow.source)) return nullptr;
  const bool proof = packet.size() == seal::Outgoing::kEmptySize;
  if (entry->state != State::kOpen || proof) speak(*entry);
  return &entry->session;
}

bool SealTable::waits(const wire::Gid& destination, Qpn qpn) const {
  const Entry* const entry = find(destination, qpn);
  return entry != nullptr && entry->state == State::kOpening;
}

bool SealTable::accepts(const wire::Frame& frame, Arrival arrival) {
  if (frame.sealed) return true;
  Entry* const entry = find(frame.headers.bth.dest_qp);
  bool accepted = false;
  if (entry == nullptr) {
    accepted = arrival == Arrival::kRing || !setup_->policy.must_seal(frame.flow.source);
    if (!accepted && frame.headers.bth.dest_qp == kManagement) {
      warn_of(frame.flow.source,
              "wants to connect without sealing, which is required: ignored; give it the same "
              "seal_key and seal=prefer or require");
    }
  } else if (entry->state == State::kOpening && entry->mode == SealMode::kPrefer &&
             entry->peer.gid == frame.flow.source) {
    settle(*entry, State::kPlain);
    accepted = true;
  } else {
    accepted = entry->state == State::kPlain;
  }
  return accepted;
}

void SealTable::warn_of(const wire::Gid& peer, const char* why) {
  constexpr std::uint32_t kMostWarnings = 8;
  if (warnings_ >= kMostWarnings || peer == warned_of_) return;
  ++warnings_;
  warned_of_ = peer;
  log(LogLevel::kWarn, "%s %s", wire::to_string(peer).c_str(), why);
}

bool SealTable::is_closed(const wire::Frame& frame) {
  return frame.headers.bth.opcode == seal::kSealedOpcode || MadSeal::is_signed(frame);
}

std::optional<wire::Frame> SealTable::open(const wire::Frame& frame, Time now) {
  if (MadSeal::is_signed(frame)) return mads.open(frame);
  packet_.resize(wire::Bth::kSize);
  frame.headers.bth.encode(std::span{packet_}.first<wire::Bth::kSize>());
  for (const wire::Piece& piece : frame.payload) {
    if (piece.port != nullptr) return std::nullopt;
    const auto* const from = reinterpret_cast<const std::byte*>(piece.address);
    packet_.insert(packet_.end(), from, from + piece.length);
  }
  seal::Opener* const opener = seal::is_sealed(packet_) ? opener_of(frame.flow, packet_) : nullptr;
  wire::Frame opened;
  if (opener == nullptr ||
      opener->receive(frame.flow, packet_, now, opened, piece_) != seal::Opening::kGood) {
    return std::nullopt;
  }
  opened.sealed = true;
  return opened;
}

void SealTable::settle(Entry& entry, State state) {
  entry.state = state;
  stopped_waiting_ = true;
  if (state == State::kOpen) write_keys(entry);
  if (state == State::kRefused) {
    const bool other_key = entry.session.heard_from_peer();
    log(LogLevel::kWarn, "%s %s: packets to it are dropped; give it the same seal_key%s",
        wire::to_string(entry.peer.gid).c_str(), other_key ? "has another key" : "does not seal",
        other_key ? "" : " and seal=prefer or require");
  }
}

void SealTable::write_keys(Entry& entry) const {
  const auto secrets = entry.session.take_secrets();
  if (!secrets) return;
  const auto write = [&](const seal::Endpoint& from, const seal::Endpoint& to,
                         const seal::SessionSecrets::Direction& direction) {
    setup_->key_log->write({.suite = entry.session.suite(),
                            .source = from.gid,
                            .destination = to.gid,
                            .qpn = to.qpn,
                            .spi = direction.spi,
                            .secret = direction.first});
  };
  write(entry.own, entry.peer, secrets->to_peer);
  write(entry.peer, entry.own, secrets->from_peer);
}

bool SealTable::follow(Entry& entry, Time now) {
  const bool settled = entry.state == State::kOpen || entry.state == State::kPlain;
  if (!settled && entry.session.is_open()) settle(entry, State::kOpen);
  if (entry.state == State::kOpening && now - entry.began >= patience_with(entry.mode)) {
    settle(entry, entry.mode == SealMode::kPrefer ? State::kPlain : State::kRefused);
  }
  return entry.state != State::kPlain && entry.session.deadline().has_value();
}

std::optional<Time> SealTable::next_deadline() const {
  std::optional<Time> earliest;
  for (const Entry* entry : speaking_) {
    std::optional<Time> due = entry->session.deadline();
    if (entry->state == State::kOpening) {
      const Time gives_up = entry->began + patience_with(entry->mode);
      due = due ? std::min(*due, gives_up) : gives_up;
    }
    if (due && (!earliest || *due < *earliest)) earliest = due;
  }
  return earliest;
}

void SealTable::expire(Time now, link::UdpSender& out) {
  std::array<std::byte, seal::Session::kMaxPacket> packet;
  std::erase_if(speaking_, [&](Entry* entry) {
    if (const std::size_t size = entry->session.next_packet(now, packet)) {
      out.send_sealed(entry->session.flow(), Bytes{packet}.first(size), now);
    }
    entry->speaks = follow(*entry, now);
    return !entry->speaks;
  });
}

std::string SealTable::state_of(Qpn own) const {
  const Entry* const entry = find(own);
  if (entry == nullptr) return "";
  switch (entry->state) {
    case State::kOpening:
      return "opening";
    case State::kOpen:
      return name_of(entry->session.suite());
    case State::kPlain:
      return "plain";
    case State::kRefused:
      break;
  }
  return "refused";
}

}  // namespace nerve::host
