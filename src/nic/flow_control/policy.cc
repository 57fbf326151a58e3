#include "nic/flow_control/policy.h"

#include <algorithm>
#include <bit>
#include <span>

namespace nerve::nic {
namespace {

constexpr int kFraction = 12;  // bits
constexpr std::int64_t kMostInput = std::int64_t{8} << kFraction;
constexpr std::int64_t kMostHidden = std::int64_t{256} << kFraction;

template <std::size_t Values>
std::int64_t sum_of(std::span<const std::int16_t> row, const std::array<std::int64_t, Values>& of) {
  std::int64_t sum = std::int64_t{row[Values]} << kFraction;
  for (std::size_t i = 0; i < Values; ++i) sum += row[i] * of[i];
  return sum >> kFraction;
}

template <std::size_t Values>
std::array<std::int64_t, Policy::kHidden> layer(std::span<const std::int16_t> weights,
                                                const std::array<std::int64_t, Values>& of) {
  std::array<std::int64_t, Policy::kHidden> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = std::clamp<std::int64_t>(sum_of(weights.subspan(i * (Values + 1), Values + 1), of), 0,
                                      kMostHidden);
  }
  return all;
}

class Hash {
 public:
  void add(std::int32_t value) {
    for (int shift = 0; shift < 32; shift += 8) {
      state_ ^= static_cast<std::uint32_t>(value) >> static_cast<unsigned>(shift) & 0xffU;
      state_ *= 0x100000001b3;  // FNV-1a
    }
  }
  void add_all(const auto& values) {
    for (const auto value : values) add(value);
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_{0xcbf29ce484222325};
};

// At line rate, with the queue of a large incast, all of it marked.
constexpr Policy::Inputs kCrowded{4 * Policy::kOne, 0, Policy::kOne, 0, 0, 0, 9 * Policy::kOne};
// At a sixteenth of the line rate, in an empty network.
constexpr Policy::Inputs kEmpty{0, 0, 0, -4 * Policy::kOne, 0, 0, 0};

}  // namespace

std::int32_t decide(const Policy& policy, const Policy::Inputs& inputs) {
  std::array<std::int64_t, Policy::kInputs> scaled{};
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    scaled[i] = std::clamp((std::int64_t{inputs[i]} * policy.scale[i]) >> kFraction, -kMostInput,
                           kMostInput);
  }
  const auto hidden = layer(policy.second, layer(policy.first, scaled));
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(sum_of(policy.last, hidden), -Policy::kOne, Policy::kOne));
}

bool in_trained_range(const Policy& policy, const Policy::Inputs& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] < policy.low[i] || inputs[i] > policy.high[i]) return false;
  }
  return true;
}

std::uint64_t hash_of(const Policy& policy) {
  Hash hash;
  hash.add(policy.window);
  hash.add_all(policy.low);
  hash.add_all(policy.high);
  hash.add_all(policy.scale);
  hash.add_all(policy.first);
  hash.add_all(policy.second);
  hash.add_all(policy.last);
  return hash.value();
}

const char* objection_to(const Policy& policy) {
  if (policy.window < Policy::kOne / 2 || policy.window > 8 * Policy::kOne) {
    return "window is not between 2048 and 32768";
  }
  for (std::size_t i = 0; i < Policy::kInputs; ++i) {
    if (policy.scale[i] < 1 || policy.scale[i] > 16 * Policy::kOne) {
      return "a scale is not between 1 and 65536";
    }
    if (policy.low[i] > policy.high[i]) return "an input has a range that ends before it begins";
  }
  if (!in_trained_range(policy, kCrowded) || !in_trained_range(policy, kEmpty)) {
    return "it was not trained for an empty network and for a crowded one";
  }
  if (decide(policy, kCrowded) >= 0) return "it does not slow down in a crowded network";
  if (decide(policy, kEmpty) <= 0) return "it does not speed up in an empty network";
  return nullptr;
}

std::int32_t log2_of(std::uint64_t value) {
  if (value < 2) return 0;
  const auto whole = static_cast<int>(std::bit_width(value)) - 1;
  // The fraction: each squaring of a number in [1, 2) yields one more bit of its logarithm.
  constexpr int kMantissa = 31;
  std::uint64_t mantissa =
      whole > kMantissa ? value >> (whole - kMantissa) : value << (kMantissa - whole);
  std::int32_t log = whole;
  for (int i = 0; i < kFraction; ++i) {
    mantissa = mantissa * mantissa >> static_cast<unsigned>(kMantissa);
    const bool above = mantissa >> static_cast<unsigned>(kMantissa + 1) != 0;
    if (above) mantissa >>= 1U;
    log = log * 2 + (above ? 1 : 0);
  }
  return log;
}

}  // namespace nerve::nic
