#include "nic/flow_control/swift.h"

#include <algorithm>

namespace nerve::nic {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kPacket = 1'000'000;  // units of the window
constexpr std::uint64_t kPerThousandth = kPacket / 1000;

// Larger windows are meaningless, and their products would not fit.
constexpr std::uint32_t kLargest = 1'000'000'000;

SwiftParameters usable(SwiftParameters p) {
  p.base_target =
      std::clamp(p.base_target, Duration{std::chrono::nanoseconds{100}}, kLongestRoundTrip);
  p.scaling_range = std::clamp(p.scaling_range, Duration{}, kLongestRoundTrip);
  p.beta = std::min(p.beta, 1000U);
  p.most_cut = std::min(p.most_cut, 999U);
  p.smallest_scaled = std::clamp(p.smallest_scaled, 1U, kLargest);
  p.largest_scaled = std::max(p.largest_scaled, p.smallest_scaled + 1);
  p.smallest = std::max(p.smallest, 1U);
  p.largest = std::max(p.largest, p.smallest);
  return p;
}

// The integer square root, rounded down.
constexpr std::uint64_t square_root(std::uint64_t n) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31U; bit > 0; bit >>= 1U) {
    if ((root + bit) * (root + bit) <= n) root += bit;
  }
  return root;
}

// A million over the square root of a window in thousandths of a packet.
constexpr std::int64_t inverse_root(std::uint64_t thousandths) {
  return static_cast<std::int64_t>(square_root(1'000'000'000'000'000 / thousandths));
}

}  // namespace

// A flow starts with the bandwidth-delay product of an idle line.
Swift::Swift(const SwiftParameters& parameters, Rate line_rate, std::uint32_t packet_bytes)
    : parameters_{usable(parameters)},
      line_{line_rate},
      packet_bytes_{std::max(packet_bytes, 1U)},
      round_trip_{parameters_.base_target} {
  continue_at(line_rate, parameters_.base_target);
}

void Swift::continue_at(Rate rate, Duration round_trip) {
  round_trip_ = std::clamp(round_trip, Duration{1}, kLongestRoundTrip);
  const Wide bytes = Wide{rate.bits_per_second()} *
                     static_cast<std::uint64_t>(round_trip_.count()) / 8'000'000'000'000U;
  window_ = static_cast<std::uint64_t>(std::clamp<Wide>(bytes * kPacket / packet_bytes_,
                                                        parameters_.smallest * kPerThousandth,
                                                        parameters_.largest * kPerThousandth));
}

Duration Swift::target() const {
  const std::int64_t least = inverse_root(parameters_.largest_scaled);
  const std::int64_t most = inverse_root(parameters_.smallest_scaled);
  const auto window = std::clamp<std::uint64_t>(
      window_ / kPerThousandth, parameters_.smallest_scaled, parameters_.largest_scaled);
  __extension__ using WideSigned = __int128;
  const auto scaled = static_cast<std::int64_t>(WideSigned{parameters_.scaling_range.count()} *
                                                (inverse_root(window) - least) /
                                                std::max<std::int64_t>(most - least, 1));
  return parameters_.base_target + Duration{scaled};
}

void Swift::on_ack(const AckSample& sample) {
  const bool measured = sample.round_trip && *sample.round_trip > Duration{};
  if (measured) round_trip_ = *sample.round_trip;
  const Duration wanted = target();
  if (round_trip_ <= wanted) return grow(sample.acked_bytes);
  if (!measured) return;
  const auto over = static_cast<std::uint64_t>((round_trip_ - wanted).count());
  const auto trip = static_cast<std::uint64_t>(round_trip_.count());
  const auto by = static_cast<std::uint64_t>(Wide{over} * parameters_.beta / trip);
  cut(std::min<std::uint64_t>(by, parameters_.most_cut), sample.now);
}

void Swift::grow(std::uint64_t acked_bytes) {
  const Wide step = Wide{acked_bytes} * kPacket / packet_bytes_ * parameters_.increase / 1000;
  const Wide grown = window_ + (window_ >= kPacket ? step * kPacket / window_ : step);
  window_ = static_cast<std::uint64_t>(std::min<Wide>(grown, parameters_.largest * kPerThousandth));
}

void Swift::cut(std::uint64_t thousandths, Time now) {
  const Duration since = now - last_cut_;
  if (cut_before_ && since >= Duration{} && since < round_trip_) return;
  cut_before_ = true;
  last_cut_ = now;
  window_ = std::max<std::uint64_t>(window_ * (1000 - thousandths) / 1000,
                                    parameters_.smallest * kPerThousandth);
}

Rate Swift::rate() const {
  if (window_ >= kPacket) return line_;
  const Wide bits = Wide{packet_bytes_} * 8U * window_ * 1'000'000'000'000U / kPacket;
  const auto bps =
      static_cast<std::uint64_t>(bits / static_cast<std::uint64_t>(round_trip_.count()));
  return std::min(line_, Rate::bits_per_second(std::max<std::uint64_t>(bps, 1'000'000)));
}

std::uint64_t Swift::window_bytes() const {
  return std::max<std::uint64_t>(window_ * packet_bytes_ / kPacket, 1);
}

}  // namespace nerve::nic
