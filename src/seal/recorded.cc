#include "seal/recorded.h"

#include <algorithm>
#include <utility>

namespace nerve::seal {
namespace {

constexpr std::uint64_t kEpochNumbers = 256;  // a header has the lower eight bits

}  // namespace

Recorded::Recorded(Crypto& crypto, Suite suite, const ChainSecret& first)
    : crypto_{crypto}, suite_{suite}, secrets_{first} {}

const EpochKey& Recorded::key_of(std::uint64_t epoch) {
  while (secrets_.size() <= epoch) secrets_.push_back(following(crypto_, secrets_.back()));
  if (keys_[0].key && keys_[0].epoch == epoch) return keys_[0].key;
  std::swap(keys_[0], keys_[1]);
  if (!keys_[0].key || keys_[0].epoch != epoch) {
    keys_[0] = {.epoch = epoch, .key = EpochKey{crypto_, suite_, secrets_[epoch]}};
  }
  return keys_[0].key;
}

bool Recorded::try_epoch(std::uint64_t epoch, const Header& header, const wire::Flow& flow,
                         MutableBytes packet) {
  const EpochKey& key = key_of(epoch);
  if (!key) return false;
  // The wrong key spoils the packet, so a copy is decrypted.
  attempt_.assign(packet.begin(), packet.end());
  if (!decrypt(key, header, flow, attempt_)) return false;
  std::ranges::copy(attempt_, packet.begin());
  return true;
}

Opening Recorded::open(const wire::Flow& flow, MutableBytes packet, wire::Frame& frame,
                       wire::Piece& piece, std::uint64_t& epoch) {
  const auto header = data_header(packet);
  if (!header) return Opening::kMalformed;
  // Epochs count up, so the next one with this number is the likely one, unless the packet is a
  // late one of the epoch before. A recording that begins late begins with any.
  const auto ahead = static_cast<std::uint8_t>(header->epoch - opened_);
  const bool late = ahead >= kEpochNumbers / 2 && opened_ + ahead >= kEpochNumbers;
  const std::uint64_t likely = opened_ + ahead - (late ? kEpochNumbers : 0);
  for (std::uint64_t candidate = likely; candidate < kMaxEpochs; candidate += kEpochNumbers) {
    if (!try_epoch(candidate, *header, flow, packet)) continue;
    opened_ = epoch = candidate;
    return read_decrypted(flow, packet, frame, piece);
  }
  return Opening::kForged;
}

}  // namespace nerve::seal
