// The search of `nerve learn`, in two parts:
//
//  the rule     a linear rule in the logarithms that a policy is given; cross-entropy over its
//               eight numbers. A rule is a network with two neurons in each layer.
//  the network  evolution strategies over all weights, from the best rule on: mirrored candidates,
//               and a step along their ranks.
//
// All arithmetic is in integers and each generation's chance depends on the seed and its number
// only, so the result is the same on every machine and for any number of threads, and a search can
// be continued.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/learn_plan.h"
#include "nic/flow_control/policy.h"

namespace nerve::cli {

// a = base + sum of gain x input, in units of 1/4096; the logarithms are not scaled.
struct LearnRule {
  enum Gene : std::size_t {
    kBase,
    kOfQueued,
    kOfInflation,
    kOfRate,
    kOfTrend,
    kOfMarked,
    kOfAction,
    kWindow,
    kGenes
  };
  std::array<std::int32_t, kGenes> genes{};
};
[[nodiscard]] nic::Policy policy_of(const LearnRule& rule, std::uint64_t seed);

struct LearnGeneration {
  bool of_rules{};
  std::int64_t centre{};  // the score of the search's centre
  std::int64_t best{};    // of the best candidate
  std::int64_t median{};
  std::vector<std::int64_t> classes;  // of the centre
};

class LearnSearcher {
 public:
  LearnSearcher(const LearnSearch& search, std::uint64_t seed);

  [[nodiscard]] bool done() const { return history_.size() == generations(); }
  [[nodiscard]] std::size_t generations() const {
    return std::size_t{search_.rule_generations} + search_.generations;
  }
  [[nodiscard]] const std::vector<LearnGeneration>& history() const { return history_; }

  // The candidates of the next generation. The first is the centre.
  [[nodiscard]] std::vector<nic::Policy> propose() const;
  // Their scores; classes of the centre are for the curves.
  void learn(std::span<const std::int64_t> scores, std::vector<std::int64_t> classes);

  // The best policy so far.
  [[nodiscard]] const nic::Policy& best() const { return best_; }
  [[nodiscard]] std::int64_t best_score() const { return best_score_; }

  // The state as JSON; `restore` returns what is wrong with a text.
  [[nodiscard]] std::string save() const;
  [[nodiscard]] std::string restore(const std::string& json);

 private:
  [[nodiscard]] bool of_rules() const { return history_.size() < search_.rule_generations; }
  [[nodiscard]] std::vector<LearnRule> rules() const;
  [[nodiscard]] std::vector<std::int32_t> noise(std::uint32_t pair) const;
  [[nodiscard]] nic::Policy moved(std::span<const std::int32_t> by, std::int32_t sign) const;
  void learn_rules(std::span<const std::int64_t> scores);
  void learn_network(std::span<const std::int64_t> scores);

  LearnSearch search_;
  std::uint64_t seed_;
  LearnRule mean_;
  LearnRule spread_;
  std::vector<std::int32_t> weights_;  // of the network, in units of 2^-20; then the window
  nic::Policy best_{};
  std::int64_t best_score_;
  std::vector<LearnGeneration> history_;
};

}  // namespace nerve::cli
