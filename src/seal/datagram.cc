#include "seal/datagram.h"

#include <algorithm>

#include "seal/closing.h"

namespace nerve::seal {
namespace {

constexpr unsigned kPacketBits = 32;

// So many packets of unknown streams are checked at once, then one in each interval.
constexpr std::uint32_t kMostDerivations = 64;
constexpr Duration kDerivationInterval = std::chrono::milliseconds{1};

std::uint64_t number_of(const Header& header) {
  return std::uint64_t{header.spi} << 32U | header.counter >> kPacketBits;
}

EpochKey stream_key(Crypto& crypto, Suite suite, const ChainSecret& secret, const wire::Gid& source,
                    std::uint64_t number) {
  std::array<std::byte, sizeof(wire::Gid) + 8 + 1> name{};
  std::ranges::copy(source.bytes, name.begin());
  store_be<8>(name, sizeof(wire::Gid), number);
  name.back() = static_cast<std::byte>(suite);
  HashValue derived = crypto.authenticate(secret.bytes(), name);
  ChainSecret stream;
  std::ranges::copy(derived, stream.bytes().begin());
  ::explicit_bzero(derived.data(), derived.size());
  return EpochKey{crypto, suite, stream};
}

std::optional<Header> datagram_header(Bytes packet) {
  if (packet.size() < wire::Bth::kSize + kOverhead) return std::nullopt;
  const auto header = Header::decode(packet.subspan<wire::Bth::kSize, Header::kSize>());
  return header && header->kind == Kind::kDatagram ? header : std::nullopt;
}

}  // namespace

bool is_datagram(Bytes packet) { return datagram_header(packet).has_value(); }

DatagramSender::DatagramSender(Crypto& crypto, Suite suite, const ChainSecret& secret,
                               const EpochLimits& limits)
    : crypto_{crypto}, suite_{suite}, secret_{secret}, limits_{limits} {}

std::optional<Header> DatagramSender::next_header(const wire::Gid& source, Time now) {
  if (header_.counter == end_ || now - began_ >= limits_.age) {
    std::array<std::byte, 8> number{};
    crypto_.fill_random(number);
    const std::uint64_t first = load_be<4>(number, 4) << kPacketBits;
    header_ = {.kind = Kind::kDatagram,
               .epoch = static_cast<std::uint8_t>(suite_),
               .spi = static_cast<std::uint32_t>(load_be<4>(number, 0)),
               .counter = first};
    // The last counter of all is no packet's (ReplayWindow).
    end_ = first + std::min(limits_.packets, (std::uint64_t{1} << kPacketBits) - 1);
    began_ = now;
    key_ = stream_key(crypto_, suite_, secret_, source, number_of(header_));
  }
  if (!key_) return std::nullopt;
  const Header header = header_;
  ++header_.counter;
  return header;
}

bool DatagramSender::seal(const wire::Frame& frame, Time now, MutableBytes out) {
  const auto header = next_header(frame.flow.source, now);
  return header && encrypt(key_, *header, frame, out);
}

bool DatagramSender::seal(const wire::Flow& flow, Bytes plain, Time now, MutableBytes out) {
  if (plain.size() < wire::Bth::kSize) return false;
  const auto header = next_header(flow.source, now);
  return header && encrypt(key_, *header, flow, plain, out);
}

bool DatagramReceiver::may_derive(Time now) {
  if (now - derived_ >= kDerivationInterval * kMostDerivations) derivations_ = 0;
  if (derivations_ >= kMostDerivations && now - derived_ < kDerivationInterval) return false;
  ++derivations_;
  derived_ = now;
  return true;
}

void DatagramReceiver::remember(Stream stream) {
  if (streams_.size() == kMaxStreams) {
    by_name_.erase(streams_.back().name);
    streams_.pop_back();
  }
  streams_.push_front(std::move(stream));
  by_name_.emplace(streams_.front().name, streams_.begin());
}

Opening DatagramReceiver::receive(const ChainSecret& secret, const wire::Flow& flow,
                                  MutableBytes packet, Time now, wire::Frame& frame,
                                  wire::Piece& piece) {
  const auto header = datagram_header(packet);
  if (!header) return Opening::kMalformed;
  if (header->epoch > kSuites || (suites_ >> header->epoch & 1U) == 0) return Opening::kUnknown;
  const Name name{flow.source.bytes, number_of(*header)};
  const auto known = by_name_.find(name);
  const auto read = [&] {
    const Opening opening = read_decrypted(flow, packet, frame, piece);
    // Nobody but the session of a connected QP may speak to it.
    const bool datagram = opening == Opening::kGood &&
                          wire::transport_of(frame.headers.bth.opcode) == wire::Transport::kUd;
    return datagram ? opening : Opening::kMalformed;
  };
  if (known != by_name_.end()) {
    Stream& stream = *known->second;
    if (!stream.window.is_new(header->counter)) return Opening::kReplayed;
    if (!decrypt(stream.key, *header, flow, packet)) return Opening::kForged;
    stream.window.note(header->counter);
    streams_.splice(streams_.begin(), streams_, known->second);
    return read();
  }
  if (!may_derive(now)) return Opening::kUnknown;
  Stream stream{.name = name,
                .key = stream_key(crypto_, static_cast<Suite>(header->epoch), secret, flow.source,
                                  name.second),
                .window{}};
  if (!stream.key || !decrypt(stream.key, *header, flow, packet)) return Opening::kForged;
  stream.window.note(header->counter);
  remember(std::move(stream));
  return read();
}

}  // namespace nerve::seal
