// What the parts of a cluster cost and draw. data/prices.toml has the defaults; a file of the user
// overrides single entries. Every price is a range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rate.h"
#include "base/result.h"
#include "sim/scenario/scenario_error.h"
#include "sim/scenario/switch_spec.h"

namespace nerve::sim::plan {

// Dollars. Sums of ranges assume that all prices are low, or all high, at the same time.
struct Money {
  double low{};
  double typical{};
  double high{};

  friend bool operator==(const Money&, const Money&) = default;
  friend Money operator+(const Money& a, const Money& b) {
    return {a.low + b.low, a.typical + b.typical, a.high + b.high};
  }
  friend Money operator*(const Money& a, double by) {
    return {a.low * by, a.typical * by, a.high * by};
  }
};

enum class PartKind : std::uint8_t { kServer, kNic, kSwitch, kCable, kTransceiver, kEnergy };
enum class Medium : std::uint8_t { kCopper, kFibre };  // a fibre needs a transceiver at each end

// What a price is worth.
enum class Basis : std::uint8_t { kListed, kEstimated, kRemembered };

struct Part {
  PartKind kind{};
  std::string name;
  Money price{};
  double per_metre{};  // cables
  double watts{};
  Rate rate{};              // NICs, cables, transceivers; of a port of a switch; zero: any
  LinkKind link{};          // switches
  std::uint32_t ports{};    // switches
  std::uint32_t gpus{};     // servers
  Medium medium{};          // cables
  double reach{1'000'000};  // metres; cables, transceivers
  std::uint32_t year{};
  Basis basis{Basis::kEstimated};
  std::string source;
};

struct Site {
  double pue{1.25};
  double rack_watts{45'000};
  std::uint32_t racks_per_row{10};
  double rack_width{0.6};  // metres
  double row_distance{3};
  double within_rack{2};
  double between_racks{4};
};

struct Prices {
  std::vector<Part> parts;
  Site site{};

  [[nodiscard]] const Part* find(std::string_view name) const {
    for (const Part& part : parts) {
      if (part.name == name) return &part;
    }
    return nullptr;
  }
};

using FileErrors = std::vector<ScenarioError>;

// Reads a file over `base`: an entry whose name is known changes only the keys that it has.
[[nodiscard]] Result<Prices, FileErrors> read_prices(std::string_view toml_text,
                                                     const std::string& file_name,
                                                     Prices base = {});

// data/prices.toml, which is part of the program.
[[nodiscard]] std::string_view default_prices_text();
[[nodiscard]] const Prices& default_prices();

[[nodiscard]] std::string_view name_of(PartKind kind);
[[nodiscard]] std::string_view name_of(Basis basis);

}  // namespace nerve::sim::plan
