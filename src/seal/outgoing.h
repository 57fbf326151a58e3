// Seals the packets of one direction. No nonce is used twice: each packet takes the next counter, a
// retransmission too.
#pragma once

#include <optional>

#include "base/time.h"
#include "seal/key_schedule.h"
#include "seal/sealed_packet.h"

namespace nerve::seal {

// When a sender changes its key.
struct EpochLimits {
  std::uint64_t packets{std::uint64_t{1} << 32U};
  Duration age{std::chrono::hours{1}};
};

class Outgoing {
 public:
  // `spi` is the one that the receiver chose.
  Outgoing(Crypto& crypto, Suite suite, const ChainSecret& secret, std::uint32_t spi);

  // Changes keys from now on. Not before it is known that the receiver has the same: it can follow
  // only if it sees a packet of each epoch.
  void change_keys(const EpochLimits& limits, Time now);

  // Writes sealed_size(frame) bytes. False if the library failed, or all counters were used: the
  // packet must not be sent.
  [[nodiscard]] bool seal(const wire::Frame& frame, Time now, MutableBytes out);
  // The same for a plain packet in bytes, from its BTH to its pad: kOverhead bytes more.
  [[nodiscard]] bool seal(const wire::Flow& flow, Bytes plain, Time now, MutableBytes out);
  // A packet without contents, which shows the receiver that both have the same keys.
  static constexpr std::size_t kEmptySize = wire::Bth::kSize + kOverhead;
  [[nodiscard]] bool seal_nothing(const wire::Flow& flow, Qpn to, Time now, MutableBytes out);

  [[nodiscard]] std::uint64_t packets() const { return counter_; }
  [[nodiscard]] std::uint64_t epochs() const { return epochs_; }

 private:
  [[nodiscard]] bool epoch_is_over(Time now) const;
  // That of the next packet, which takes its counter. Nothing if there is none.
  [[nodiscard]] std::optional<Header> next_header(Time now);

  KeySchedule schedule_;
  EpochKey key_;
  std::optional<EpochLimits> limits_;
  std::uint32_t spi_;
  std::uint8_t epoch_{};
  std::uint64_t epochs_{};  // begun since the first one
  std::uint64_t counter_{};
  std::uint64_t epoch_began_at_{};  // counter
  Time epoch_began_{};
};

}  // namespace nerve::seal
