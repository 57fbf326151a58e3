#include "cli/learn_search.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/prng.h"

namespace nerve::cli {
namespace {

using nic::Policy;
using Json = nlohmann::ordered_json;

constexpr std::int32_t kOne = Policy::kOne;
constexpr std::int32_t kFine = 256;  // of the weights that the search keeps
constexpr std::size_t kWeights = Policy::kFirst + Policy::kSecond + Policy::kLast;

// The network sees the logarithms over 8 and over 4, so that they are near one.
constexpr Policy::Inputs kScale{kOne / 4, kOne, kOne, kOne / 8, kOne, kOne, kOne / 8};
// What training covers: an incast of 256 senders whose windows are twice too large, and links that
// lose most of their capacity.
constexpr Policy::Inputs kLow{0, -8 * kOne, 0, -12 * kOne, -kOne, -kOne, 0};
constexpr Policy::Inputs kHigh{12 * kOne, 8 * kOne, kOne, 0, kOne, kOne, 16 * kOne};

// Where the search begins: a target of a few packets, more at low rates.
constexpr LearnRule kFirstMean{
    {3 * kOne, -kOne, -kOne / 4, -kOne / 2, -kOne / 2, -kOne / 4, 0, kOne * 3 / 2}};
constexpr LearnRule kFirstSpread{
    {kOne * 3 / 2, kOne / 2, kOne / 2, kOne / 3, kOne / 2, kOne / 2, kOne / 4, kOne / 3}};

std::int16_t weight(std::int64_t value) {
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(
      value, std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()));
}

std::int32_t window(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, kOne, 4 * kOne));
}

// About normal, with a deviation of kOne: the sum of twelve uniform numbers.
std::int32_t normal(Prng& prng) {
  std::int32_t sum = -6 * kOne;
  for (int i = 0; i < 12; ++i) sum += static_cast<std::int32_t>(prng.below(kOne));
  return sum;
}

std::int64_t root_of(std::int64_t square) {
  std::int64_t root = 0;
  for (std::int64_t bit = std::int64_t{1} << 30; bit > 0; bit >>= 1) {
    if ((root + bit) * (root + bit) <= square) root += bit;
  }
  return root;
}

// The indices of scores, the best first; of equal ones the first.
std::vector<std::size_t> in_order(std::span<const std::int64_t> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return scores[i]; });
  return order;
}

std::vector<std::int32_t> weights_of(const Policy& policy) {
  std::vector<std::int32_t> all;
  all.reserve(kWeights + 1);
  for (const std::int16_t one : policy.first) all.push_back(one * kFine);
  for (const std::int16_t one : policy.second) all.push_back(one * kFine);
  for (const std::int16_t one : policy.last) all.push_back(one * kFine);
  all.push_back(policy.window * kFine);
  return all;
}

Policy policy_with(std::span<const std::int32_t> weights) {
  Policy policy{.low = kLow, .high = kHigh, .scale = kScale};
  std::size_t next = 0;
  const auto fill = [&](auto& values) {
    for (std::int16_t& one : values) one = weight(weights[next++] / kFine);
  };
  fill(policy.first);
  fill(policy.second);
  fill(policy.last);
  policy.window = window(weights[next] / kFine);
  return policy;
}

}  // namespace

Policy policy_of(const LearnRule& rule, std::uint64_t seed) {
  using enum LearnRule::Gene;
  Policy policy{.low = kLow, .high = kHigh, .scale = kScale};
  const auto& gene = rule.genes;
  // A quarter of the rule, because weights are below 8; the last layer multiplies by four.
  std::array<std::int64_t, Policy::kInputs + 1> row{};
  row[Policy::kInflation] = gene[kOfInflation];
  row[Policy::kTrend] = gene[kOfTrend] / 4;
  row[Policy::kMarked] = gene[kOfMarked] / 4;
  row[Policy::kRate] = std::int64_t{gene[kOfRate]} * 2;
  row[Policy::kAction] = gene[kOfAction] / 4;
  row[Policy::kQueued] = std::int64_t{gene[kOfQueued]} * 2;
  row[Policy::kInputs] = gene[kBase] / 4;
  // The other neurons begin with small weights and no effect.
  Prng prng{seed ^ 0x6c6561726e};
  for (std::int16_t& one : policy.first) one = weight(normal(prng) / 4);
  for (std::int16_t& one : policy.second) one = weight(normal(prng) / 4);
  for (std::size_t i = 0; i < row.size(); ++i) {
    policy.first[i] = weight(row[i]);
    policy.first[row.size() + i] = weight(-row[i]);
  }
  constexpr std::size_t kRow = Policy::kHidden + 1;
  std::fill_n(policy.second.begin(), 2 * kRow, std::int16_t{0});
  policy.second[0] = kOne;
  policy.second[kRow + 1] = kOne;
  policy.last[0] = weight(4 * kOne);
  policy.last[1] = weight(-4 * kOne);
  policy.window = window(gene[kWindow]);
  return policy;
}

LearnSearcher::LearnSearcher(const LearnSearch& search, std::uint64_t seed)
    : search_{search},
      seed_{seed},
      mean_{kFirstMean},
      spread_{kFirstSpread},
      weights_{weights_of(policy_of(kFirstMean, seed))},
      best_{policy_of(kFirstMean, seed)},
      best_score_{std::numeric_limits<std::int64_t>::max()} {}

std::vector<LearnRule> LearnSearcher::rules() const {
  Prng prng{seed_ + 1'000'003 * (history_.size() + 1)};
  std::vector<LearnRule> all{mean_};
  while (all.size() < search_.rule_population) {
    LearnRule& rule = all.emplace_back();
    for (std::size_t i = 0; i < rule.genes.size(); ++i) {
      const std::int64_t off = std::int64_t{spread_.genes[i]} * normal(prng) / kOne;
      rule.genes[i] = static_cast<std::int32_t>(mean_.genes[i] + off);
    }
    rule.genes[LearnRule::kWindow] = window(rule.genes[LearnRule::kWindow]);
  }
  return all;
}

std::vector<std::int32_t> LearnSearcher::noise(std::uint32_t pair) const {
  Prng prng{seed_ + 1'000'003 * (history_.size() + 1) + 7'919 * (std::uint64_t{pair} + 1)};
  std::vector<std::int32_t> all(kWeights + 1);
  for (std::int32_t& one : all) one = normal(prng);
  return all;
}

Policy LearnSearcher::moved(std::span<const std::int32_t> by, std::int32_t sign) const {
  std::vector<std::int32_t> weights = weights_;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] +=
        static_cast<std::int32_t>(std::int64_t{by[i]} * kFine * search_.spread * sign / 1000);
  }
  return policy_with(weights);
}

std::vector<Policy> LearnSearcher::propose() const {
  std::vector<Policy> all;
  if (of_rules()) {
    for (const LearnRule& rule : rules()) all.push_back(policy_of(rule, seed_));
    return all;
  }
  all.push_back(policy_with(weights_));
  for (std::uint32_t pair = 0; pair < search_.pairs; ++pair) {
    const std::vector<std::int32_t> by = noise(pair);
    all.push_back(moved(by, 1));
    all.push_back(moved(by, -1));
  }
  return all;
}

void LearnSearcher::learn(std::span<const std::int64_t> scores, std::vector<std::int64_t> classes) {
  const std::vector<Policy> candidates = propose();
  const std::vector<std::size_t> order = in_order(scores);
  const std::size_t best = order.front();
  LearnGeneration generation{.of_rules = of_rules(),
                             .centre = scores[0],
                             .best = scores[best],
                             .median = scores[order[order.size() / 2]],
                             .classes = std::move(classes)};
  if (scores[best] < best_score_) {
    best_score_ = scores[best];
    best_ = candidates[best];
  }
  if (of_rules()) {
    learn_rules(scores);
  } else {
    learn_network(scores);
  }
  const bool was_of_rules = of_rules();
  history_.push_back(std::move(generation));
  if (was_of_rules && !of_rules()) weights_ = weights_of(best_);
}

// The mean and the deviation of the best quarter are those of the next generation. Deviations
// shrink by half at most, so that the search does not end early.
void LearnSearcher::learn_rules(std::span<const std::int64_t> scores) {
  const std::vector<LearnRule> all = rules();
  const std::vector<std::size_t> order = in_order(scores);
  const auto elite = static_cast<std::int64_t>(std::max<std::size_t>(all.size() / 4, 2));
  for (std::size_t gene = 0; gene < mean_.genes.size(); ++gene) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < elite; ++i) {
      sum += all[order[static_cast<std::size_t>(i)]].genes[gene];
    }
    const std::int64_t mean = sum / elite;
    std::int64_t squares = 0;
    for (std::int64_t i = 0; i < elite; ++i) {
      const std::int64_t off = all[order[static_cast<std::size_t>(i)]].genes[gene] - mean;
      squares += off * off;
    }
    mean_.genes[gene] = static_cast<std::int32_t>(mean);
    const std::int64_t deviation = root_of(squares / (elite - 1));
    const std::int64_t before = spread_.genes[gene];
    spread_.genes[gene] = static_cast<std::int32_t>(std::clamp(deviation, before / 2, before));
  }
}

// A step against the mean of the noise, weighted by ranks: from half for the worst candidate to
// minus half for the best.
void LearnSearcher::learn_network(std::span<const std::int64_t> scores) {
  const std::vector<std::size_t> order = in_order(scores);
  const auto last = static_cast<std::int64_t>(std::max<std::size_t>(order.size() - 1, 1));
  std::vector<std::int64_t> rank(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = static_cast<std::int64_t>(i) * kOne / last - kOne / 2;
  }
  std::vector<std::int64_t> sum(weights_.size());
  for (std::uint32_t pair = 0; pair < search_.pairs; ++pair) {
    const std::vector<std::int32_t> by = noise(pair);
    const std::int64_t worse = rank[1 + 2 * pair] - rank[2 + 2 * pair];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += worse * by[i];
  }
  // Twice the spread times the mean over pairs.
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const std::int64_t mean = sum[i] / search_.pairs / kOne;
    weights_[i] -= static_cast<std::int32_t>(2 * mean * kFine * search_.spread / 1000);
  }
}

std::string LearnSearcher::save() const {
  Json json{{"seed", seed_},           {"mean", mean_.genes},       {"spread", spread_.genes},
            {"weights", weights_},     {"best", weights_of(best_)}, {"best_score", best_score_},
            {"history", Json::array()}};
  for (const LearnGeneration& one : history_) {
    json["history"].push_back({{"rules", one.of_rules},
                               {"centre", one.centre},
                               {"best", one.best},
                               {"median", one.median},
                               {"classes", one.classes}});
  }
  return json.dump(1) + "\n";
}

std::string LearnSearcher::restore(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("seed").get<std::uint64_t>() != seed_) return "it has another seed";
    const auto weights = json.at("weights").get<std::vector<std::int32_t>>();
    const auto best = json.at("best").get<std::vector<std::int32_t>>();
    if (weights.size() != weights_.size() || best.size() != weights_.size()) {
      return "it has a wrong number of weights";
    }
    std::vector<LearnGeneration> history;
    for (const Json& one : json.at("history")) {
      history.push_back({one.at("rules"), one.at("centre"), one.at("best"), one.at("median"),
                         one.at("classes").get<std::vector<std::int64_t>>()});
    }
    if (history.size() > generations()) return "it has more generations than the file asks for";
    json.at("mean").get_to(mean_.genes);
    json.at("spread").get_to(spread_.genes);
    best_score_ = json.at("best_score").get<std::int64_t>();
    best_ = policy_with(best);
    weights_ = weights;
    history_ = std::move(history);
    return {};
  } catch (const Json::exception& error) {
    return std::string{"it cannot be read: "} + error.what();
  }
}

}  // namespace nerve::cli
