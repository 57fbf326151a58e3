#include "host/seal/capture_keys.h"

#include <algorithm>
#include <string_view>

#include "host/seal/libcrypto.h"
#include "wire/bth.h"

namespace nerve::host {
namespace {

SealOutcome outcome_of(seal::Kind kind) {
  switch (kind) {
    case seal::Kind::kData:
    case seal::Kind::kDatagram:  // whose keys no log has
      return SealOutcome::kNoKey;
    case seal::Kind::kCall:
      return SealOutcome::kCall;
    case seal::Kind::kAnswer:
      return SealOutcome::kAnswer;
    case seal::Kind::kInvite:
      return SealOutcome::kInvitation;
  }
  return SealOutcome::kUnknown;
}

std::optional<seal::Header> header_of(Bytes payload) {
  if (!seal::is_sealed(payload)) return std::nullopt;
  return seal::Header::decode(payload.subspan(wire::Bth::kSize).first<seal::Header::kSize>());
}

}  // namespace

std::string name_of(const SealedPacket& sealed) {
  switch (sealed.outcome) {
    case SealOutcome::kOpened: {
      const std::uint8_t code = sealed.packet.headers.bth.opcode;
      const wire::OpcodeInfo* const info = wire::find_opcode(code);
      return info != nullptr ? info->name : "opcode " + std::to_string(code) + " (unknown)";
    }
    case SealOutcome::kEmpty:
      return "SEALED_EMPTY";
    case SealOutcome::kCall:
      return "SEAL_CALL";
    case SealOutcome::kAnswer:
      return "SEAL_ANSWER";
    case SealOutcome::kInvitation:
      return "SEAL_INVITATION";
    case SealOutcome::kNotAuthentic:
    case SealOutcome::kNoKey:
    case SealOutcome::kUnknown:
      break;
  }
  return "SEALED";
}

const char* to_string(SealOutcome outcome) {
  switch (outcome) {
    case SealOutcome::kOpened:
    case SealOutcome::kEmpty:
      return "opened";
    case SealOutcome::kNotAuthentic:
      return "not authentic";
    case SealOutcome::kNoKey:
      return "no key";
    case SealOutcome::kCall:
    case SealOutcome::kAnswer:
    case SealOutcome::kInvitation:
      return "handshake";
    case SealOutcome::kUnknown:
      break;
  }
  return "unknown version or kind";
}

std::size_t CaptureKeys::NameHash::operator()(const Name& name) const {
  std::uint64_t hash = std::uint64_t{name.qpn} << 32U | name.spi;
  for (const wire::Gid* gid : {&name.source, &name.destination}) {
    hash = (hash ^ load_be<8>(gid->bytes, 0)) * 0x9e37'79b9'7f4a'7c15;
    hash = (hash ^ load_be<8>(gid->bytes, 8)) * 0x9e37'79b9'7f4a'7c15;
  }
  return hash ^ hash >> 32U;
}

Result<CaptureKeys, std::string> CaptureKeys::read(Bytes text, BadLines& bad) {
  const auto library = Libcrypto::load();
  if (!library) return Unexpected{library.error()};
  CaptureKeys keys;
  keys.crypto_ = *library;
  std::string_view rest{reinterpret_cast<const char*>(text.data()), text.size()};
  for (std::uint64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    if (const auto key = KeyLine::parse(line)) {
      keys.add(*key);
    } else if (bad.count++ == 0) {
      bad.first = "line " + std::to_string(number) + ": " + key.error();
    }
  }
  if (keys.directions_.empty()) {
    return Unexpected{std::string{"it has no keys; give a file that seal_key_log named"} +
                      (bad.count > 0 ? " (" + bad.first + ")" : "")};
  }
  return keys;
}

void CaptureKeys::add(const KeyLine& line) {
  auto& directions = directions_[{.source = line.source,
                                  .destination = line.destination,
                                  .qpn = line.qpn.value(),
                                  .spi = line.spi}];
  // Both ends of a QP may have written the same key.
  const bool known = std::ranges::any_of(directions, [&](const Direction& direction) {
    return direction.suite == line.suite &&
           std::ranges::equal(direction.secret.bytes(), line.secret.bytes());
  });
  // A file may repeat one name with other secrets without end, and each is tried with each packet.
  constexpr std::size_t kMostOfOneName = 8;
  if (known || directions.size() == kMostOfOneName) return;
  directions.push_back({.suite = line.suite, .secret = line.secret, .recorded = std::nullopt});
}

void CaptureKeys::open_with(Direction& direction, SealedPacket& sealed) {
  if (!direction.recorded) direction.recorded.emplace(*crypto_, direction.suite, direction.secret);
  wire::Frame frame;
  wire::Piece piece;
  const auto opening =
      direction.recorded->open(sealed.packet.flow, sealed.contents, frame, piece, sealed.epoch);
  if (opening != seal::Opening::kGood && opening != seal::Opening::kEmpty) return;
  sealed.suite = direction.suite;
  if (opening == seal::Opening::kEmpty) {
    sealed.outcome = SealOutcome::kEmpty;
    return;
  }
  sealed.outcome = SealOutcome::kOpened;
  sealed.packet.headers = frame.headers;
  sealed.packet.payload = {};
  if (!frame.payload.empty()) {
    sealed.packet.payload = {reinterpret_cast<const std::byte*>(piece.address), piece.length};
  }
}

SealedPacket CaptureKeys::open(const wire::Flow& flow, Bytes payload) {
  SealedPacket sealed;
  sealed.outcome = SealOutcome::kUnknown;
  sealed.bytes = payload.size();
  sealed.packet.flow = flow;
  wire::Bth& bth = sealed.packet.headers.bth;
  wire::Bth::decode_into(payload.first<wire::Bth::kSize>(), bth);
  const auto header = header_of(payload);
  if (!header) return sealed;
  sealed.header = *header;
  sealed.epoch = header->epoch;
  sealed.outcome = outcome_of(header->kind);
  if (header->kind != seal::Kind::kData) return sealed;
  const auto found = directions_.find({.source = flow.source,
                                       .destination = flow.destination,
                                       .qpn = bth.dest_qp.value(),
                                       .spi = header->spi});
  if (found == directions_.end()) return sealed;
  sealed.outcome = SealOutcome::kNotAuthentic;
  sealed.contents.assign(payload.begin(), payload.end());
  for (Direction& direction : found->second) {
    open_with(direction, sealed);
    if (sealed.outcome != SealOutcome::kNotAuthentic) break;
  }
  return sealed;
}

std::size_t sealed_segment(Bytes payload) {
  constexpr std::size_t kShortest = wire::Bth::kSize + seal::kOverhead;
  const auto first = header_of(payload);
  const auto bth = wire::Bth::decode(payload);
  if (!first || !bth || first->kind != seal::Kind::kData) return payload.size();
  // Packet `i` of a train has the same receiver, and a counter that is higher by `i`.
  const auto follows = [&](Bytes packet, std::uint64_t i) {
    const auto header = header_of(packet);
    return packet.size() >= kShortest && header && header->kind == seal::Kind::kData &&
           header->spi == first->spi && header->counter == first->counter + i &&
           wire::Bth::decode(packet)->dest_qp == bth->dest_qp;
  };
  for (std::size_t segment = kShortest; segment + kShortest <= payload.size(); ++segment) {
    bool explains = true;
    for (std::size_t i = 1; explains && i * segment < payload.size(); ++i) {
      explains = follows(payload.subspan(i * segment), i);
    }
    if (explains) return segment;
  }
  return payload.size();
}

}  // namespace nerve::host
