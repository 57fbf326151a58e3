// A policy for learned congestion control: a small network in integers that maps what a sender
// knows to a change of its rate. policy_file.h reads and writes it; learned.h applies it.
//
// Numbers are in units of 1/4096. Two hidden layers of 12 with max(0, x), then one output between
// -1 and 1. Sums are exact in 64 bits, so every machine computes the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nerve::nic {

struct Policy {
  static constexpr std::int32_t kOne = 4096;
  static constexpr std::size_t kInputs = 7;
  static constexpr std::size_t kHidden = 12;

  // What the network is given. Logarithms have base 2.
  enum Input : std::size_t {
    kInflation,     // log of the round trip over the least one
    kTrend,         // log of the round trip over the one before
    kMarked,        // share of ACKs that echo a congestion mark
    kRate,          // log of the rate over the line rate
    kAction,        // the last output
    kActionBefore,  // and the one before it
    kQueued,        // log of 1 + the packets that the line would send in the time above the least
  };
  using Inputs = std::array<std::int32_t, kInputs>;
  static constexpr std::size_t kFirst = kHidden * (kInputs + 1);
  static constexpr std::size_t kSecond = kHidden * (kHidden + 1);
  static constexpr std::size_t kLast = kHidden + 1;

  std::int32_t window{};  // of unacknowledged bytes, over the rate times the least round trip
  Inputs low{};           // the inputs that it was trained for
  Inputs high{};
  Inputs scale{};  // each input is multiplied by this first
  // One row for each neuron: the weights of what it is given, then its bias.
  std::array<std::int16_t, kFirst> first{};
  std::array<std::int16_t, kSecond> second{};
  std::array<std::int16_t, kLast> last{};

  friend bool operator==(const Policy&, const Policy&) = default;
};

// The output: from -kOne to kOne.
[[nodiscard]] std::int32_t decide(const Policy& policy, const Policy::Inputs& inputs);

[[nodiscard]] bool in_trained_range(const Policy& policy, const Policy::Inputs& inputs);

// Of everything that a decision depends on.
[[nodiscard]] std::uint64_t hash_of(const Policy& policy);

// Why a policy must not control a sender: values out of range, or an answer that no usable policy
// gives. Null if there is no objection.
[[nodiscard]] const char* objection_to(const Policy& policy);

// log2(value), rounded down to 1/4096. The logarithm of zero is that of one.
[[nodiscard]] std::int32_t log2_of(std::uint64_t value);

// policies/default.toml, compiled in.
[[nodiscard]] const Policy& shipped_policy();

}  // namespace nerve::nic
