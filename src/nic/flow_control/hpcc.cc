#include "nic/flow_control/hpcc.h"

#include <algorithm>

namespace nerve::nic {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kMillion = 1'000'000;
constexpr std::uint64_t kPicosPerByte = 8'000'000'000'000;  // at one bit per second

HpccParameters usable(HpccParameters p) {
  p.eta = std::clamp(p.eta, 1U, 1000U);
  p.base_round_trip = std::clamp(p.base_round_trip, Duration{std::chrono::nanoseconds{100}},
                                 Duration{std::chrono::seconds{1}});
  p.flows = std::max(p.flows, 1U);
  return p;
}

std::uint64_t bytes_in(Rate rate, std::uint64_t picoseconds) {
  const Wide bytes = Wide{rate.bits_per_second()} * picoseconds / kPicosPerByte;
  return static_cast<std::uint64_t>(std::min<Wide>(bytes, ~std::uint64_t{0}));
}

std::uint64_t window_at(Rate rate, const HpccParameters& p) {
  const auto base = static_cast<std::uint64_t>(p.base_round_trip.count());
  return std::max<std::uint64_t>(bytes_in(rate, base), 1);
}

// In millionths. The result is limited to a thousand times the line rate: no queue holds more, the
// window is at its minimum then, and reports from the network may contain any number.
std::uint64_t share(std::uint64_t part, std::uint64_t whole) {
  const Wide exact = Wide{part} * kMillion / std::max<std::uint64_t>(whole, 1);
  return static_cast<std::uint64_t>(std::min<Wide>(exact, 1000 * kMillion));
}

}  // namespace

Hpcc::Hpcc(const HpccParameters& parameters, Rate line_rate)
    : parameters_{usable(parameters)},
      line_{line_rate},
      first_window_{window_at(line_rate, parameters_)},
      least_window_{std::min(window_at(parameters_.minimum_rate, parameters_), first_window_)},
      step_{std::max<std::uint64_t>(
          first_window_ * (1000 - parameters_.eta) / 1000 / parameters_.flows, 1)},
      window_{first_window_},
      reference_{first_window_} {}

Hpcc::Use Hpcc::busiest(Hops hops) const {
  const auto base = static_cast<std::uint64_t>(parameters_.base_round_trip.count());
  Use most;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    const wire::HopTelemetry& now = hops[i];
    const wire::HopTelemetry& before = last_[i];
    // Reports come from a network and are not trusted. Skip a link whose clock stood still or went
    // back (it may wrap), a link without a rate, and a byte count that fell, which belongs to
    // another port.
    const auto elapsed = static_cast<std::int64_t>(now.timestamp_ps - before.timestamp_ps);
    if (now.line_rate_bps == 0 || elapsed <= 0) continue;
    const auto sent = static_cast<std::int64_t>(now.transmitted_bytes - before.transmitted_bytes);
    if (sent < 0) continue;
    const auto time = static_cast<std::uint64_t>(elapsed);
    const Rate rate = Rate::bits_per_second(now.line_rate_bps);
    const std::uint64_t queue = std::min(now.queue_bytes, before.queue_bytes);
    const std::uint64_t use = share(queue, bytes_in(rate, base)) +
                              share(static_cast<std::uint64_t>(sent), bytes_in(rate, time));
    // An idle link counts too; otherwise a high utilisation would never fall.
    if (use > most.millionths || most.picoseconds == 0) most = {use, time};
  }
  return most;
}

void Hpcc::measure(Hops hops) {
  const auto base = static_cast<std::uint64_t>(parameters_.base_round_trip.count());
  const Use most = busiest(hops);
  const std::uint64_t time = std::min(most.picoseconds, base);
  use_ = static_cast<std::uint64_t>((Wide{use_} * (base - time) + Wide{most.millionths} * time) /
                                    base);
}

void Hpcc::on_ack(const AckSample& sample) {
  acked_ += sample.acked_bytes;
  const Hops hops = sample.telemetry.first(std::min(sample.telemetry.size(), kMaxHops));
  if (hops.empty()) return;
  const bool whole_round = acked_ > round_ends_;
  // If the path has changed, there is nothing to compare with.
  if (hops.size() == last_count_) {
    measure(hops);
    compute(whole_round);
  }
  // The packets in flight now end the next round. They are counted as ACKs count them, by packets:
  // bytes on the wire include headers and would drift apart.
  if (whole_round) round_ends_ = acked_ + sample.outstanding_bytes;
  std::ranges::copy(hops, last_.begin());
  last_count_ = hops.size();
}

void Hpcc::compute(bool whole_round) {
  const std::uint64_t eta = parameters_.eta * (kMillion / 1000);
  std::uint64_t window = 0;
  if (use_ >= eta || stages_ >= parameters_.most_stages) {
    window = static_cast<std::uint64_t>(Wide{reference_} * eta / std::max<std::uint64_t>(use_, 1));
    window += step_;
    if (whole_round) stages_ = 0;
  } else {
    window = reference_ + step_;
    if (whole_round) ++stages_;
  }
  window_ = std::clamp<std::uint64_t>(window, least_window_, first_window_);
  if (whole_round) reference_ = window_;
}

Rate Hpcc::rate() const {
  const auto base = static_cast<std::uint64_t>(parameters_.base_round_trip.count());
  const auto bps = static_cast<std::uint64_t>(Wide{window_} * kPicosPerByte / base);
  return std::min(line_, Rate::bits_per_second(std::max<std::uint64_t>(bps, 1'000'000)));
}

}  // namespace nerve::nic
