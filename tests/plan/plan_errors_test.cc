// Goal: errors of plans and price files have the line, the key and what was expected.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sim/plan/market.h"
#include "sim/plan/plan_file.h"
#include "sim/plan/prices.h"
#include "sim/scenario/document_text.h"
#include "tests/plan/worked.h"

namespace nerve::sim::plan {
namespace {

const std::string kJob = "[[job]]\nkind = \"all-reduce\"\nsize = \"1 MB\"\n";
const std::string kGood = "[plan]\ngpus = 16\n" + kJob;

std::string first_error(const std::string& text) {
  const auto spec = read_plan(text, "x.toml");
  return spec ? "no error" : text_of(spec.error().front());
}

// Errors of what a plan has in common with a scenario are found with the first candidate.
std::string study_error(const std::string& text) {
  auto spec = read_plan(text, "x.toml");
  if (!spec) return text_of(spec.error().front());
  const auto study = make_study(*std::move(spec), default_prices());
  return study ? "no error" : text_of(study.error().front());
}

std::string price_error(const std::string& text) {
  const auto prices = read_prices(text, "p.toml", default_prices());
  return prices ? "no error" : text_of(prices.error().front());
}

std::string file_text(const std::string& name) {
  std::ifstream file{std::string{NERVE_SOURCE_DIR} + "/" + name};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST(PlanErrors, HaveLineKeyAndWhatWasExpected) {
  EXPECT_EQ(first_error(kGood), "no error");
  EXPECT_EQ(first_error("[plan]\n" + kJob),
            "x.toml:1: plan: gpus is missing: the number of GPUs; or write budget = 20e6");
  EXPECT_EQ(first_error("[plan]\ngpus = 16\nbudget = 1e6\n" + kJob),
            "x.toml:3: plan.budget: is for plans without gpus; leave one of them out");
  EXPECT_EQ(first_error("[plan]\ngpu = 16\n" + kJob).substr(0, 60),
            "x.toml:2: plan.gpu: \"gpu\" is not known; did you mean \"gpus\"?");
  EXPECT_EQ(first_error(kGood + "[vary]\ntopology = [\"leaf-spine\", \"leaf-spin\"]\n"),
            "x.toml:7: vary.topology.1: \"leaf-spin\" is not known; did you mean \"leaf-spine\"? "
            "(single-switch, leaf-spine, fat-tree, rail-optimised, rail-only, dual-plane, "
            "dragonfly)");
  EXPECT_EQ(first_error(kGood + "[vary]\nnic_rate = 400\n"),
            "x.toml:7: vary.nic_rate.0: 400 has no unit; write \"400 Gb/s\" or \"12.5 GB/s\"");
  EXPECT_EQ(first_error(kGood + "[vary]\noversubscription = []\n"),
            "x.toml:7: vary.oversubscription: the list is empty; leave the key out, or write at "
            "least one value");
  EXPECT_EQ(first_error(kGood + "[vary]\nnetwork = [\"roce\", \"roce\"]\n"),
            "x.toml:7: vary.network.1: is in the list twice");
  EXPECT_EQ(first_error(kGood + "[limits]\npower = \"5 horses\"\n"),
            "x.toml:7: limits.power: \"5 horses\" is not a power; write \"700 W\" or \"1.5 MW\"");
  EXPECT_EQ(first_error(kGood + "[limits]\ndays = 30\n"),
            "x.toml:7: limits.days: is the time for all tokens; write tokens = 1e12 in [plan]");
  EXPECT_EQ(first_error("[plan]\ngpus = 16\nparallelism = \"choose\"\n" + kJob),
            "x.toml:3: plan.parallelism: \"choose\" needs the sequences of a step; write batch = "
            "1024");
  EXPECT_EQ(first_error("[plan]\ngpus = 16\ngoal = \"cost\"\n" + kJob),
            "x.toml:3: plan.goal: \"cost\" without a limit of time buys whatever is cheapest; "
            "write days or time in [limits]");
  EXPECT_EQ(first_error(kGood + "[servers]\ncount = 2\n"),
            "x.toml:7: servers.count: is what a plan chooses; write gpus in [plan]");
  EXPECT_EQ(first_error(kGood + "[fabric]\ntopology = \"star\"\n"),
            "x.toml:7: fabric.topology: is what a plan chooses; write topology in [vary]");
  EXPECT_EQ(first_error("seed = 3\n" + kGood),
            "x.toml:1: seed: a plan has no such key; leave it out");
  EXPECT_EQ(first_error("[plan]\ngpus = 16\n"),
            "x.toml: job: there is no job; write [[job]] with kind = \"training\"");
  EXPECT_EQ(first_error("[plan\n").substr(0, 18), "x.toml:1: not TOML");
}

TEST(PlanErrors, OfAScenarioHaveItsLine) {
  EXPECT_EQ(study_error("[plan]\ngpus = 16\n[[job]]\nkind = \"all-reduce\"\nsize = 5\n"),
            "x.toml:5: job.0.size: 5 has no unit; write \"64 MB\" or \"4 KiB\"");
  EXPECT_EQ(study_error(kGood + "[nic]\nqps = 4\n").substr(0, 22), "x.toml:7: nic.qps: \"qp");
}

TEST(PlanErrors, OfPriceFiles) {
  EXPECT_EQ(price_error("[[switch]]\nname = \"Ethernet 64 x 400G\"\nprice = 30000\n"), "no error");
  EXPECT_EQ(price_error("[[switch]]\nname = \"new\"\nprice = 1\n").substr(0, 60),
            "p.toml:1: switch.0: rate is missing: of its port, in each di");
  EXPECT_EQ(price_error("[[nic]]\nname = \"fibre\"\nprice = 1\n"),
            "p.toml:2: nic.0.name: \"fibre\" is a cable; write [[cable]]");
  EXPECT_EQ(price_error("[[nic]]\nname = \"400 Gb/s NIC\"\nprice = 10\nlow = 20\n"),
            "p.toml:4: nic.0.low: 20 is above the price, 10");
  EXPECT_EQ(price_error("[[nic]]\nname = \"400 Gb/s NIC\"\nprize = 10\n"),
            "p.toml:3: nic.0.prize: \"prize\" is not known; did you mean \"price\"? (name, price, "
            "low, high, power, rate, year, basis, source)");
  EXPECT_EQ(price_error("[[cable]]\nname = \"fibre\"\nreach = \"far\"\n"),
            "p.toml:3: cable.0.reach: \"far\" is not a length; write \"2.5 m\"");
  EXPECT_EQ(price_error("[[sever]]\nname = \"x\"\n").substr(0, 64),
            "p.toml:1: sever: \"sever\" is not known; did you mean \"server\"? (s");
}

TEST(PlanPrices, DefaultsAreCompleteAndHonest) {
  const Prices& prices = default_prices();
  for (const Part& part : prices.parts) {
    EXPECT_FALSE(part.source.empty()) << part.name;
    EXPECT_GE(part.year, 2023U) << part.name;
    EXPECT_LE(part.price.low, part.price.typical) << part.name;
    EXPECT_GE(part.price.high, part.price.typical) << part.name;
    EXPECT_LT(part.price.low, part.price.high) << part.name << ": no price is certain";
  }
  for (const std::uint32_t gpus : {8U, 16U, 32U}) EXPECT_NE(server_part(prices, gpus), nullptr);
}

TEST(PlanPrices, AUsersFileChangesSingleEntries) {
  const auto own =
      read_prices("[[switch]]\nname = \"Ethernet 64 x 400G\"\nprice = 20000\n[site]\npue = 1.1\n",
                  "p.toml", default_prices());
  ASSERT_TRUE(own);
  const Part* part = own->find("Ethernet 64 x 400G");
  EXPECT_EQ(part->price, (Money{20'000, 20'000, 20'000}));  // one's own price is certain
  EXPECT_EQ(part->ports, 64U);
  EXPECT_EQ(own->site.pue, 1.1);
  EXPECT_EQ(own->parts.size(), default_prices().parts.size());
  EXPECT_EQ(own->find("fibre")->price, default_prices().find("fibre")->price);
}

TEST(PlanMarket, IsThePublishedForecast) {
  const Market& forecast = market();
  ASSERT_EQ(forecast.years.size(), 8U);
  EXPECT_EQ(forecast.years.front(), 2021U);
  EXPECT_EQ(forecast.by_network.at(0),
            (MarketRow{"Ethernet", {0.2, 0.3, 0.9, 2.1, 6.1, 8.7, 12.0, 13.7}}));
  EXPECT_EQ(forecast.by_network.at(1),
            (MarketRow{"InfiniBand", {0.9, 1.5, 5.9, 10.2, 8.3, 8.9, 8.9, 8.8}}));
  EXPECT_EQ(forecast.by_part.at(0), (MarketRow{"NICs", {0.4, 0.6, 2.2, 3.6, 3.5, 3.8, 3.8, 3.9}}));
  EXPECT_EQ(forecast.by_part.at(1),
            (MarketRow{"switching", {0.6, 1.2, 4.7, 8.7, 11.0, 13.8, 17.1, 18.6}}));
  EXPECT_NE(drawn(forecast).find("2028"), std::string::npos);
  EXPECT_TRUE(commonness(forecast, NetworkKind::kTcp).empty());
  EXPECT_NE(commonness(forecast, NetworkKind::kRoce).find("61 % in 2028"), std::string::npos);
  EXPECT_FALSE(read_market("years = [2021]\nsource = \"x\"\n"));
}

// docs/plan.md lists every key, as the program describes it.
TEST(PlanReference, ListsEveryKey) {
  const std::string page = file_text("docs/plan.md");
  std::string missing;
  for (const ScenarioKey& key : plan_keys()) {
    const std::string row = markdown_row(key);
    if (page.find(row) == std::string::npos) missing += row + "\n";
  }
  EXPECT_TRUE(missing.empty()) << "write these rows into docs/plan.md:\n" << missing;
}

TEST(PlanDocument, IsTheSameAfterWritingAndReading) {
  for (const char* name : {"examples/plans/first.toml", "examples/scenarios/straggler.toml",
                           "examples/scenarios/link-failure.toml"}) {
    const auto first = scenario_file::parse_document(file_text(name), name);
    ASSERT_TRUE(first) << name;
    const std::string text = scenario_file::text_of(*first);
    const auto second = scenario_file::parse_document(text, name);
    ASSERT_TRUE(second) << name << "\n" << text;
    EXPECT_EQ(scenario_file::text_of(*second), text);
    EXPECT_EQ(first->children.size(), second->children.size());
  }
}

// Every example is a plan with candidates, and its prices have all parts.
TEST(PlanExamples, CanBeBuilt) {
  for (const char* name :
       {"first", "small", "all-to-all", "budget", "power", "parallelism", "prices"}) {
    const std::string file = std::string{NERVE_SOURCE_DIR} + "/examples/plans/" + name + ".toml";
    auto spec = read_plan(file_text("examples/plans/" + std::string{name} + ".toml"), file);
    ASSERT_TRUE(spec) << text_of(spec.error().front());
    Prices prices = default_prices();
    if (!spec->prices.empty()) {
      auto own =
          read_prices(file_text("examples/plans/own-prices.toml"), "own-prices.toml", prices);
      ASSERT_TRUE(own) << text_of(own.error().front());
      prices = *std::move(own);
    }
    const auto study = make_study(*std::move(spec), std::move(prices));
    ASSERT_TRUE(study) << text_of(study.error().front());
    std::size_t waiting = 0;
    for (const Option& option : study->options) {
      waiting += option.state == State::kWaiting ? 1U : 0U;
      EXPECT_EQ(option.reason.find("the prices have no"), std::string::npos) << option.reason;
    }
    EXPECT_GE(waiting, 3U) << name;
  }
}

}  // namespace nerve::sim::plan
