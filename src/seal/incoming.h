// Opens the sealed packets of one direction: authentic, not yet seen, and of an epoch that is not
// over.
#pragma once

#include <optional>

#include "base/time.h"
#include "seal/opening.h"
#include "seal/replay_window.h"

namespace nerve::seal {

class Incoming {
 public:
  // Packets of an epoch are accepted for this long after the first one of the next epoch.
  static constexpr Duration kOverlap = std::chrono::seconds{10};

  Incoming(Crypto& crypto, Suite suite, const ChainSecret& secret, std::uint32_t spi);

  // Decrypts the packet where it lies. `frame` refers to it and to `piece` if the result is kGood.
  [[nodiscard]] Opening open(const wire::Flow& flow, MutableBytes packet, Time now,
                             wire::Frame& frame, wire::Piece& piece);

  [[nodiscard]] std::uint32_t spi() const { return spi_; }

 private:
  // The key of this epoch; null if it is over, or not the next one.
  [[nodiscard]] EpochKey* key_of(std::uint8_t epoch, Time now);
  void begin_epoch(Time now);

  KeySchedule schedule_;
  EpochKey previous_;
  EpochKey current_;
  EpochKey next_;  // made in advance: a forged packet must not cost a derivation
  std::uint32_t spi_;
  std::uint8_t epoch_{};
  Time epoch_began_{};
  ReplayWindow window_;
};

}  // namespace nerve::seal
