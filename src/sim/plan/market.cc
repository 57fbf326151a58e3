#include "sim/plan/market.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "sim/scenario/document.h"

namespace nerve::sim::plan {
namespace {

using scenario_file::Node;
using scenario_file::NodeType;

bool number_in(const Node& node, double& where) {
  if (node.type == NodeType::kInteger) {
    where = static_cast<double>(node.integer);
  } else if (node.type == NodeType::kNumber) {
    where = node.number;
  } else {
    return false;
  }
  return where >= 0 && where <= 1e6;
}

std::string read_rows(const Node& document, const char* table, std::size_t years,
                      std::vector<MarketRow>& rows) {
  const Node* node = document.find(table);
  if (node == nullptr || node->type != NodeType::kTable) return std::string{table} + " is missing";
  for (const Node& child : node->children) {
    MarketRow row{child.key, {}};
    for (const Node& value : child.children) {
      if (!number_in(value, row.values.emplace_back())) {
        return fmt::format("{}.{} must be a list of numbers", table, child.key);
      }
    }
    if (child.type != NodeType::kList || row.values.size() != years) {
      return fmt::format("{}.{} must have {} numbers, one for each year", table, child.key, years);
    }
    rows.push_back(std::move(row));
  }
  return {};
}

std::string read_servers(const Node& document, Market& market) {
  const Node* node = document.find("ai_servers");
  if (node == nullptr || node->type != NodeType::kTable) return "ai_servers is missing";
  for (const Node& child : node->children) {
    std::uint32_t year = 0;
    const char* const last = child.key.data() + child.key.size();
    const auto [end, error] = std::from_chars(child.key.data(), last, year);
    double millions = 0;
    if (error != std::errc{} || end != last || !number_in(child, millions)) {
      return "ai_servers." + child.key + " must be a year with a number of millions";
    }
    market.ai_servers.emplace_back(year, millions);
  }
  return {};
}

std::string drawn_rows(const Market& market, const std::vector<MarketRow>& rows) {
  constexpr double kColumns = 50;
  double most = 0;
  for (std::size_t i = 0; i < market.years.size(); ++i) {
    double sum = 0;
    for (const MarketRow& row : rows) sum += row.values[i];
    most = std::max(most, sum);
  }
  std::string text;
  constexpr char kMarks[] = {'#', '=', '-', '.'};
  for (std::size_t i = 0; i < market.years.size(); ++i) {
    std::string bar;
    std::string words;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const double value = rows[k].values[i];
      bar += std::string(static_cast<std::size_t>(std::lround(value / most * kColumns)),
                         kMarks[std::min(k, std::size(kMarks) - 1)]);
      words += fmt::format("{}{} {:.1f}", words.empty() ? "" : ", ", rows[k].name, value);
    }
    text += fmt::format("  {}  {:<51} {}\n", market.years[i], bar, words);
  }
  return text;
}

}  // namespace

Result<Market, std::string> read_market(std::string_view toml_text) {
  const auto document = scenario_file::parse_document(toml_text, "data/market.toml");
  if (!document) return Unexpected{text_of(document.error())};
  Market market;
  if (const Node* source = document->find("source")) market.source = source->text;
  if (market.source.empty()) return Unexpected{std::string{"source is missing"}};
  const Node* years = document->find("years");
  if (years == nullptr || years->type != NodeType::kList || years->children.empty()) {
    return Unexpected{std::string{"years must be a list"}};
  }
  for (const Node& year : years->children) {
    if (year.type != NodeType::kInteger || year.integer < 1990 || year.integer > 2100) {
      return Unexpected{"years: " + scenario_file::shown(year) + " is not a year"};
    }
    market.years.push_back(static_cast<std::uint32_t>(year.integer));
  }
  std::string why = read_rows(*document, "by_network", market.years.size(), market.by_network);
  if (why.empty()) why = read_rows(*document, "by_part", market.years.size(), market.by_part);
  if (why.empty()) why = read_servers(*document, market);
  if (!why.empty()) return Unexpected{why};
  return market;
}

const Market& market() {
  static const Market read = [] {
    auto parsed = read_market(market_text());
    CHECK(parsed.has_value());  // a test reads the file
    return *std::move(parsed);
  }();
  return read;
}

std::string drawn(const Market& market) {
  std::string text = fmt::format("RDMA networks, billions of US dollars ({})\n\nby network\n{}",
                                 market.source, drawn_rows(market, market.by_network));
  text += "\nby part\n" + drawn_rows(market, market.by_part) + "\nAI servers: ";
  for (std::size_t i = 0; i < market.ai_servers.size(); ++i) {
    const auto& [year, millions] = market.ai_servers[i];
    text += fmt::format("{}{:.3g} M in {}", i > 0 ? ", " : "", millions, year);
  }
  return text + "\n";
}

std::string commonness(const Market& market, NetworkKind network) {
  if (network == NetworkKind::kTcp) return {};
  const std::string_view name = network == NetworkKind::kInfiniBand ? "InfiniBand" : "Ethernet";
  const auto share = [&](std::size_t year) {
    double all = 0;
    double own = 0;
    for (const MarketRow& row : market.by_network) {
      all += row.values[year];
      if (row.name == name) own += row.values[year];
    }
    return all > 0 ? 100 * own / all : 0;
  };
  const std::size_t last = market.years.size() - 1;
  const std::size_t before = last >= 3 ? last - 3 : 0;
  return fmt::format(
      "{} has {:.0f} % of the forecast revenue of RDMA networks in {}, and {:.0f} % "
      "in {} ({}).",
      name, share(before), market.years[before], share(last), market.years[last], market.source);
}

}  // namespace nerve::sim::plan
