#include <algorithm>

#include "base/check.h"
#include "sim/plan/prices.h"
#include "sim/scenario/document.h"
#include "sim/scenario/key.h"
#include "sim/scenario/units.h"
#include "sim/scenario/words.h"

namespace nerve::sim::plan {
namespace {

using namespace scenario_file;

constexpr Named<PartKind> kPartKinds[] = {
    {"server", PartKind::kServer},           {"nic", PartKind::kNic},
    {"switch", PartKind::kSwitch},           {"cable", PartKind::kCable},
    {"transceiver", PartKind::kTransceiver}, {"energy", PartKind::kEnergy},
};
constexpr Named<Basis> kBases[] = {
    {"listed", Basis::kListed},
    {"estimated", Basis::kEstimated},
    {"remembered", Basis::kRemembered},
};
constexpr Named<Medium> kMedia[] = {{"copper", Medium::kCopper}, {"fibre", Medium::kFibre}};

constexpr double kMostDollars = 1e9;

// "2.5 m", as metres.
void read_length(Value& v, double& metres) {
  std::string text = number_text(metres) + " m";
  v.text(text);
  if (text.ends_with(" m")) {
    const Node node = parse_value(text.substr(0, text.size() - 2));
    const bool whole = node.type == NodeType::kInteger;
    const double length = whole ? static_cast<double>(node.integer) : node.number;
    if ((whole || node.type == NodeType::kNumber) && length > 0 && length <= 1e6) {
      metres = length;
      return;
    }
  }
  v.wrong("\"" + text.substr(0, 60) + "\" is not a length; write \"2.5 m\"");
}

// clang-format off
constexpr Key<Part> kPart[] = {
    {"name", "what a bill of materials calls it",
     [](Value& v, Part& p) { v.text(p.name); }, kRequired},
    {"price", "in US dollars; of energy for each kWh",
     [](Value& v, Part& p) { v.number(p.price.typical, 0, kMostDollars); }, kRequired},
    {"low", "lower end of its range",
     [](Value& v, Part& p) { v.number(p.price.low, 0, kMostDollars); }, "price"},
    {"high", "upper end",
     [](Value& v, Part& p) { v.number(p.price.high, 0, kMostDollars); }, "price"},
    {"per_metre", "in addition, for each metre",
     [](Value& v, Part& p) { v.number(p.per_metre, 0, 10'000); }, "", "cable"},
    {"power", "what it draws under load",
     [](Value& v, Part& p) { v.power(p.watts, 0, 1e6); }, "",
     "server, nic, switch, cable, transceiver"},
    {"gpus", "GPUs of the server",
     [](Value& v, Part& p) { v.count(p.gpus, 1, 256); }, kRequired, "server"},
    {"rate", "of its port, in each direction",
     [](Value& v, Part& p) { v.rate(p.rate); }, kRequired, "nic, switch, transceiver"},
    {"rate", "the fastest that it carries",
     [](Value& v, Part& p) { v.rate(p.rate); }, "any", "cable"},
    {"link", "network that it is for",
     [](Value& v, Part& p) { v.word(p.link, kLinks); }, kRequired, "switch"},
    {"ports", "number of ports of this rate; a port can be split into up to 8 slower ones",
     [](Value& v, Part& p) { v.count(p.ports, 2, 4096); }, kRequired, "switch"},
    {"medium", "copper, with both ends; fibre, which needs two transceivers",
     [](Value& v, Part& p) { v.word(p.medium, kMedia); }, kRequired, "cable"},
    {"reach", "the longest that works, as in \"3 m\"",
     [](Value& v, Part& p) { read_length(v, p.reach); }, kRequired, "cable, transceiver"},
    {"year", "of the price",
     [](Value& v, Part& p) { v.count(p.year, 2000, 2100); }, kRequired},
    {"basis", "what the source is worth",
     [](Value& v, Part& p) { v.word(p.basis, kBases); }},
    {"source", "where the price is from",
     [](Value& v, Part& p) { v.text(p.source); }, kRequired},
};

constexpr Key<Site> kSite[] = {
    {"pue", "power of the building over power of its machines",
     [](Value& v, Site& s) { v.number(s.pue, 1, 4); }},
    {"rack_power", "what the servers of a rack may draw",
     [](Value& v, Site& s) { v.power(s.rack_watts, 100, 1e7); }},
    {"racks_per_row", "racks in a row",
     [](Value& v, Site& s) { v.count(s.racks_per_row, 1, 10'000); }},
    {"rack_width", "distance between two racks", [](Value& v, Site& s) { read_length(v, s.rack_width); }},
    {"row_distance", "distance between two rows", [](Value& v, Site& s) { read_length(v, s.row_distance); }},
    {"within_rack", "length of a cable within a rack", [](Value& v, Site& s) { read_length(v, s.within_rack); }},
    {"between_racks", "added to the way between two racks", [](Value& v, Site& s) { read_length(v, s.between_racks); }},
};
// clang-format on

void check_part(const TableAt& table, Part& part) {
  const bool own_price = table.has("price");
  if (own_price && !table.has("low")) part.price.low = part.price.typical;
  if (own_price && !table.has("high")) part.price.high = part.price.typical;
  if (part.price.low > part.price.typical) {
    table.wrong(
        table.has("low") ? "low" : "price",
        number_text(part.price.low) + " is above the price, " + number_text(part.price.typical));
  }
  if (part.price.high < part.price.typical) {
    table.wrong(
        table.has("high") ? "high" : "price",
        number_text(part.price.high) + " is below the price, " + number_text(part.price.typical));
  }
}

void read_part(const TableAt& table, PartKind kind, Prices& prices) {
  const std::string_view word = scenario_file::name_of(kind, kPartKinds);
  std::vector<Key<Part>> keys = keys_for(std::span<const Key<Part>>{kPart}, word);
  std::vector<std::string_view> names;
  add_names(std::span<const Key<Part>>{keys}, names);
  refuse_others(table, names);
  const Node* name = table.node.find("name");
  const auto known = std::ranges::find_if(prices.parts, [&](const Part& part) {
    return name != nullptr && name->type == NodeType::kText && part.name == name->text;
  });
  const bool changes = known != prices.parts.end();
  if (changes && known->kind != kind) {
    table.wrong("name", "\"" + known->name + "\" is a " + std::string{plan::name_of(known->kind)} +
                            "; write [[" + std::string{plan::name_of(known->kind)} + "]]");
    return;
  }
  if (changes) {
    for (Key<Part>& key : keys) key.fallback = {};  // an entry that is known need not be complete
  }
  Part part;
  if (changes) part = *known;
  part.kind = kind;
  read_keys(table, std::span<const Key<Part>>{keys}, part);
  check_part(table, part);
  if (changes) {
    *known = std::move(part);
  } else {
    prices.parts.push_back(std::move(part));
  }
}

void read_all(const TableAt& document, Prices& prices) {
  std::vector<std::string_view> names{"site"};
  for (const Named<PartKind>& kind : kPartKinds) names.push_back(kind.name);
  refuse_others(document, names);
  for (const Named<PartKind>& kind : kPartKinds) {
    const std::vector<const Node*> nodes = find_tables(document, kind.name);
    constexpr std::size_t kMostParts = 500;
    if (nodes.size() > kMostParts) {
      document.wrong(kind.name, std::to_string(nodes.size()) + " entries; at most " +
                                    std::to_string(kMostParts));
      continue;
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      read_part({*nodes[i], std::string{kind.name} + "." + std::to_string(i), document.errors},
                kind.value, prices);
    }
  }
  read_table(document, "site", std::span<const Key<Site>>{kSite}, prices.site);
}

}  // namespace

std::string_view name_of(PartKind kind) { return scenario_file::name_of(kind, kPartKinds); }
std::string_view name_of(Basis basis) { return scenario_file::name_of(basis, kBases); }

Result<Prices, FileErrors> read_prices(std::string_view toml_text, const std::string& file_name,
                                       Prices base) {
  const auto parsed = parse_document(toml_text, file_name);
  if (!parsed) return Unexpected{FileErrors{parsed.error()}};
  Errors errors{file_name};
  read_all({*parsed, "", errors}, base);
  if (errors.none()) return base;
  FileErrors all = errors.take();
  std::ranges::stable_sort(all, {}, &ScenarioError::line);
  return Unexpected{std::move(all)};
}

const Prices& default_prices() {
  static const Prices prices = [] {
    auto read = read_prices(default_prices_text(), "data/prices.toml");
    CHECK(read.has_value());  // a test reads the file
    return *std::move(read);
  }();
  return prices;
}

}  // namespace nerve::sim::plan
