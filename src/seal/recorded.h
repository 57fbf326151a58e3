// Opens the recorded packets of one direction, given the secret of its first epoch: those of any
// epoch, as often as a recording has them.
#pragma once

#include <vector>

#include "seal/opening.h"

namespace nerve::seal {

class Recorded {
 public:
  // Epochs of an hour each: a direction that lived longer than six weeks opens up to here.
  static constexpr std::uint64_t kMaxEpochs = 1024;

  Recorded(Crypto& crypto, Suite suite, const ChainSecret& first);

  // Decrypts the packet where it lies if the result is kGood or kEmpty, and leaves it as it is
  // otherwise. `epoch` becomes the number of the epoch since the first one.
  [[nodiscard]] Opening open(const wire::Flow& flow, MutableBytes packet, wire::Frame& frame,
                             wire::Piece& piece, std::uint64_t& epoch);

 private:
  [[nodiscard]] bool try_epoch(std::uint64_t epoch, const Header& header, const wire::Flow& flow,
                               MutableBytes packet);
  [[nodiscard]] const EpochKey& key_of(std::uint64_t epoch);

  Crypto& crypto_;
  Suite suite_;
  // Of epoch 0, 1, 2, ... as far as they were needed. Keys are not kept: a cipher takes a kilobyte,
  // and forged packets may name every epoch.
  std::vector<ChainSecret> secrets_;
  struct Cached {
    std::uint64_t epoch{};
    EpochKey key;
  };
  Cached keys_[2];          // the latest ones: epochs overlap
  std::uint64_t opened_{};  // the epoch of the last packet that was opened
  std::vector<std::byte> attempt_;
};

}  // namespace nerve::seal
