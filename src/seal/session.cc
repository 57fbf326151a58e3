#include "seal/session.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace nerve::seal {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstPause = milliseconds{1};
constexpr Duration kLongestPause = milliseconds{500};
// How long a call that was answered is kept when others arrive: the caller's first sealed packet is
// on its way.
constexpr Duration kKeepCandidate = std::chrono::seconds{1};
// Between calls or answers that are checked. What is ignored is repeated.
constexpr Duration kBetweenExchanges = milliseconds{2};

constexpr std::uint8_t bit_of(Suite suite) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(suite));
}

struct Payload {
  std::uint32_t spi{};
  std::uint8_t suites{};  // a mask in a call, a suite in an answer

  [[nodiscard]] std::array<std::byte, Session::kPayloadSize> encode() const {
    std::array<std::byte, Session::kPayloadSize> out{};
    store_be<4>(out, 0, spi);
    out[4] = std::byte{suites};
    return out;
  }
  [[nodiscard]] static Payload decode(Bytes in) {
    return {.spi = static_cast<std::uint32_t>(load_be<4>(in, 0)),
            .suites = std::to_integer<std::uint8_t>(in[4])};
  }
};

bool is_time(Time now, Time& next) {
  if (now < next) return false;
  next = now + kBetweenExchanges;
  return true;
}

std::array<std::byte, Session::kMessageSize> copy_of(Bytes message) {
  std::array<std::byte, Session::kMessageSize> copy{};
  std::ranges::copy(message, copy.begin());
  return copy;
}

std::size_t write_packet(const Header& header, Qpn to, Bytes message, MutableBytes out) {
  CHECK(out.size() >= kClearSize + message.size());
  wire::Bth{.opcode = kSealedOpcode, .dest_qp = to}.encode(out.first<wire::Bth::kSize>());
  header.encode(out.subspan(wire::Bth::kSize).first<Header::kSize>());
  std::ranges::copy(message, out.begin() + kClearSize);
  return kClearSize + message.size();
}

}  // namespace

Session::Session(Crypto& crypto, const SessionSetup& setup, Time now)
    : crypto_{crypto},
      setup_{setup},
      next_stranger_{now},
      candidates_{setup.memory != nullptr ? setup.memory : std::pmr::new_delete_resource()},
      next_exchange_{now} {
  if (setup_.own == setup_.peer) {
    open_to_itself(now);
    return;
  }
  if (is_caller()) {
    call();
  } else {
    own_invitation_ = random_spi();
  }
  send_soon(now);
}

void Session::open_to_itself(Time now) {
  if (setup_.suites.empty()) return;
  ChainSecret secret;
  crypto_.fill_random(secret.bytes());
  suite_ = setup_.suites.front();
  const std::uint32_t spi = random_spi();
  incoming_.emplace(crypto_, suite_, secret, spi);
  outgoing_.emplace(crypto_, suite_, secret, spi);
  outgoing_->change_keys(setup_.limits, now);
  if (setup_.reveals_secrets) {
    secrets_ = SessionSecrets{.to_peer = {.spi = spi, .first = secret},
                              .from_peer = {.spi = spi, .first = secret}};
  }
}

bool Session::is_caller() const {
  const auto key = [](const Endpoint& end) { return std::pair{end.gid.bytes, end.qpn.value()}; };
  return key(setup_.own) < key(setup_.peer);
}

std::vector<std::byte> Session::prologue() const {
  constexpr std::string_view kText = "nerve seal 1";
  const Endpoint& caller = is_caller() ? setup_.own : setup_.peer;
  const Endpoint& answerer = is_caller() ? setup_.peer : setup_.own;
  std::vector<std::byte> bytes;
  for (const char c : kText) bytes.push_back(static_cast<std::byte>(c));
  for (const Endpoint* end : {&caller, &answerer}) {
    bytes.insert(bytes.end(), end->gid.bytes.begin(), end->gid.bytes.end());
    std::array<std::byte, 4> qpn{};
    store_be<4>(qpn, 0, end->qpn.value());
    bytes.insert(bytes.end(), qpn.begin(), qpn.end());
  }
  return bytes;
}

void Session::call() {
  spi_ = random_spi();
  call_number_ = random_number();
  Payload payload{.spi = spi_};
  for (const Suite suite : setup_.suites) payload.suites |= bit_of(suite);
  noise_.emplace(crypto_, Noise::Side::kInitiator, setup_.credentials, prologue());
  if (!noise_->write(payload.encode(), call_)) noise_.reset();
}

std::uint64_t Session::random_number() {
  std::array<std::byte, 8> bytes{};
  crypto_.fill_random(bytes);
  return load_be<8>(bytes, 0);
}

void Session::send_soon(Time now) {
  due_ = now;
  pause_ = kFirstPause;
}

void Session::reply_soon(Time now) {
  began_again_ = true;
  send_soon(now);
}

wire::Flow Session::flow() const {
  return {.source = setup_.own.gid, .destination = setup_.peer.gid};
}

std::size_t Session::next_packet(Time now, MutableBytes out) {
  if (!due_ || *due_ > now) return 0;
  const Qpn to = setup_.peer.qpn;
  const auto prove = [&](Outgoing& outgoing) {
    CHECK(out.size() >= Outgoing::kEmptySize);
    const bool sealed = outgoing.seal_nothing(flow(), to, now, out.first(Outgoing::kEmptySize));
    return sealed ? Outgoing::kEmptySize : 0;
  };
  last_sent_ = now;
  if (is_open()) {
    due_.reset();
    return prove(*outgoing_);
  }
  due_ = now + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
  // In turns, because none of the candidates may be right.
  began_again_ = candidates_.empty() || !began_again_;
  if (began_again_ && is_caller()) {
    const Header header{.kind = Kind::kCall, .spi = invitation_, .counter = call_number_};
    return noise_ ? write_packet(header, to, call_, out) : 0;
  }
  if (began_again_) {
    return write_packet({.kind = Kind::kInvite, .spi = own_invitation_}, to, {}, out);
  }
  Candidate& latest = candidates_.back();
  return is_caller() ? prove(latest.outgoing)
                     : write_packet(latest.answer_header, to, latest.answer, out);
}

Opening Session::count(Opening opening) {
  switch (opening) {
    case Opening::kGood:
      ++counters_.opened;
      break;
    case Opening::kReplayed:
      ++counters_.replayed;
      break;
    case Opening::kEmpty:
    case Opening::kUnknown:
      break;
    case Opening::kMalformed:
    case Opening::kOldEpoch:
    case Opening::kForged:
      ++counters_.refused;
  }
  return opening;
}

Opening Session::receive(const wire::Flow& flow, MutableBytes packet, Time now, wire::Frame& frame,
                         wire::Piece& piece) {
  if (!(flow.source == setup_.peer.gid) || !(flow.destination == setup_.own.gid)) {
    return Opening::kUnknown;
  }
  if (packet.size() < kClearSize) return count(Opening::kMalformed);
  const auto header = Header::decode(packet.subspan(wire::Bth::kSize).first<Header::kSize>());
  if (!header) return count(Opening::kMalformed);
  heard_from_peer_ = true;
  const Bytes message = packet.subspan(kClearSize);
  switch (header->kind) {
    case Kind::kData: {
      const Opening opening = incoming_ ? incoming_->open(flow, packet, now, frame, piece)
                                        : open_candidate(flow, packet, now, frame, piece);
      // The caller's proof: it repeats that until it sees ours.
      if (opening == Opening::kEmpty && !is_caller()) send_soon(now);
      return count(opening);
    }
    case Kind::kCall:
      if (!is_caller() && !is_open()) take_call(*header, message, now);
      break;
    case Kind::kAnswer:
      if (is_caller() && !is_open()) take_answer(*header, message, now);
      break;
    case Kind::kInvite:
      if (is_caller() && !is_open()) take_invitation(*header, now);
      break;
    case Kind::kDatagram:
      return count(Opening::kMalformed);
  }
  return Opening::kEmpty;
}

void Session::take_invitation(const Header& header, Time now) {
  invitation_ = header.spi;
  // Sooner than planned, but no more often than a call is repeated at first.
  if (due_ && now - last_sent_ >= kFirstPause) send_soon(now);
}

std::optional<Suite> Session::choose(std::uint8_t offered) const {
  for (const Suite suite : setup_.suites) {
    if ((offered & bit_of(suite)) != 0) return suite;
  }
  return std::nullopt;
}

bool Session::make_room(Time now) {
  if (candidates_.size() < kMaxCandidates) return true;
  if (now - candidates_.front().made < kKeepCandidate) return false;
  candidates_.erase(candidates_.begin());
  return true;
}

bool Session::is_known(const Header& header, Bytes message, Time now) {
  const auto known = std::ranges::find_if(candidates_, [&](const Candidate& candidate) {
    return std::ranges::equal(candidate.received, message);
  });
  if (known == candidates_.end()) return false;
  known->answer_header.counter = header.counter;  // a header may have been changed on the way
  std::rotate(known, known + 1, candidates_.end());
  reply_soon(now);
  return true;
}

void Session::take_call(const Header& header, Bytes message, Time now) {
  if (message.size() != kMessageSize || is_known(header, message, now)) return;
  const bool invited = header.spi == own_invitation_;
  if (make_room(now) && is_time(now, invited ? next_exchange_ : next_stranger_)) {
    answer_call(header, message, now);
  }
}

void Session::answer_call(const Header& header, Bytes message, Time now) {
  Noise noise{crypto_, Noise::Side::kResponder, setup_.credentials, prologue()};
  std::array<std::byte, kPayloadSize> text{};
  if (!noise.read(message, text)) {
    ++counters_.refused;
    return;
  }
  const Payload offer = Payload::decode(text);
  const std::optional<Suite> suite = choose(offer.suites);
  if (!suite) return;
  const Payload answer{.spi = random_spi(), .suites = static_cast<std::uint8_t>(*suite)};
  Message answer_message{};
  if (!noise.write(answer.encode(), answer_message)) return;
  const auto [from_caller, to_caller] = noise.split();
  candidates_.push_back({.received = copy_of(message),
                         .answer_header = {.kind = Kind::kAnswer, .counter = header.counter},
                         .answer = answer_message,
                         .suite = *suite,
                         .incoming = Incoming{crypto_, *suite, from_caller, answer.spi},
                         .outgoing = Outgoing{crypto_, *suite, to_caller, offer.spi},
                         .secrets = revealed({.to_peer = {offer.spi, to_caller},
                                              .from_peer = {answer.spi, from_caller}}),
                         .made = now});
  reply_soon(now);
}

void Session::take_answer(const Header& header, Bytes message, Time now) {
  if (message.size() != kMessageSize || header.counter != call_number_) return;
  if (!noise_ || is_known(header, message, now) || !make_room(now) || !is_time(now, next_exchange_))
    return;
  // A forged answer must not spoil the handshake: only a copy of its state is changed.
  Noise noise = *noise_;
  std::array<std::byte, kPayloadSize> text{};
  if (!noise.read(message, text)) {
    ++counters_.refused;
    return;
  }
  const Payload answer = Payload::decode(text);
  const auto chosen = static_cast<Suite>(answer.suites);
  if (std::ranges::find(setup_.suites, chosen) == setup_.suites.end()) return;
  const auto [from_us, to_us] = noise.split();
  candidates_.push_back(
      {.received = copy_of(message),
       .suite = chosen,
       .incoming = Incoming{crypto_, chosen, to_us, spi_},
       .outgoing = Outgoing{crypto_, chosen, from_us, answer.spi},
       .secrets = revealed({.to_peer = {answer.spi, from_us}, .from_peer = {spi_, to_us}}),
       .made = now});
  reply_soon(now);
}

Opening Session::open_candidate(const wire::Flow& flow, MutableBytes packet, Time now,
                                wire::Frame& frame, wire::Piece& piece) {
  Opening result = Opening::kUnknown;
  for (Candidate& candidate : candidates_) {
    // The caller has told one SPI to all answerers, and an attempt with the wrong key spoils the
    // packet: so it is made with a copy.
    std::vector<std::byte> copy{packet.begin(), packet.end()};
    const Opening opening = candidate.incoming.open(flow, copy, now, frame, piece);
    if (opening != Opening::kUnknown) result = opening;
    if (opening != Opening::kGood && opening != Opening::kEmpty) continue;
    std::ranges::copy(copy, packet.begin());
    piece.address += reinterpret_cast<std::uint64_t>(packet.data()) -
                     reinterpret_cast<std::uint64_t>(copy.data());
    suite_ = candidate.suite;
    incoming_.emplace(std::move(candidate.incoming));
    outgoing_.emplace(std::move(candidate.outgoing));
    outgoing_->change_keys(setup_.limits, now);
    secrets_ = candidate.secrets;
    candidates_.clear();
    candidates_.shrink_to_fit();
    noise_.reset();
    due_.reset();
    break;
  }
  return result;
}

std::optional<SessionSecrets> Session::revealed(const SessionSecrets& secrets) const {
  if (!setup_.reveals_secrets) return std::nullopt;
  return secrets;
}

std::optional<SessionSecrets> Session::take_secrets() {
  return std::exchange(secrets_, std::nullopt);
}

bool Session::seal(const wire::Frame& frame, Time now, MutableBytes out) {
  ++counters_.sealed;
  return outgoing_->seal(frame, now, out);
}

bool Session::seal(const wire::Flow& flow, Bytes plain, Time now, MutableBytes out) {
  ++counters_.sealed;
  return outgoing_->seal(flow, plain, now, out);
}

}  // namespace nerve::seal
