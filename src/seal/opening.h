// How a sealed packet becomes a plain one, where it lies.
#pragma once

#include <optional>

#include "seal/key_schedule.h"
#include "seal/sealed_packet.h"

namespace nerve::seal {

enum class Opening : std::uint8_t {
  kGood,
  kEmpty,  // good, and without a frame
  kMalformed,
  kUnknown,   // another SPI
  kReplayed,  // it arrived before, or is too old to tell
  kOldEpoch,
  kForged,
};

// The header of a packet that carries data and is long enough to have been sealed; otherwise
// nothing.
[[nodiscard]] std::optional<Header> data_header(Bytes packet);

// Decrypts a packet with this header. False if it is not authentic: its bytes are spoilt then.
[[nodiscard]] bool decrypt(const EpochKey& key, const Header& header, const wire::Flow& flow,
                           MutableBytes packet);

// After decrypt(): kGood, kEmpty or kMalformed. If it is kGood, `frame` refers to the packet and to
// `piece`.
[[nodiscard]] Opening read_decrypted(const wire::Flow& flow, MutableBytes packet,
                                     wire::Frame& frame, wire::Piece& piece);

}  // namespace nerve::seal
