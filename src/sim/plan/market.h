// The published forecast of the market of RDMA networks, data/market.toml. A plan uses it only to
// say how common a choice is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/plan/plan_spec.h"

namespace nerve::sim::plan {

struct MarketRow {
  std::string name;            // Ethernet
  std::vector<double> values;  // one for each year
  friend bool operator==(const MarketRow&, const MarketRow&) = default;
};

struct Market {
  std::string source;
  std::vector<std::uint32_t> years;
  std::vector<MarketRow> by_network;  // billions of dollars
  std::vector<MarketRow> by_part;
  std::vector<std::pair<std::uint32_t, double>> ai_servers;  // year, millions
};

// data/market.toml, which is part of the program.
[[nodiscard]] std::string_view market_text();
// The error names the key that is wrong.
[[nodiscard]] Result<Market, std::string> read_market(std::string_view toml_text);
[[nodiscard]] const Market& market();

// Bars for a terminal.
[[nodiscard]] std::string drawn(const Market& market);
// "Ethernet has 34 % of the RDMA market of 2025 and 61 % of 2028 (650 Group, June 2024)"; empty for
// TCP, of which the forecast says nothing.
[[nodiscard]] std::string commonness(const Market& market, NetworkKind network);

}  // namespace nerve::sim::plan
