#include "link/tap/fault_spec.h"

#include <algorithm>

#include "link/tap/fault_words.h"

namespace nerve::link {
namespace {

constexpr const char* kChance =
    "a probability from 0 to 100%, as in 1% or 0.01; 100% is every packet";

struct Word {
  std::string_view key;
  const char* allowed;
  bool (*read)(std::string_view value, FaultSpec& spec, FaultRule& rule);
  bool repeats{};  // may occur more than once in a rule
};

template <class T>
bool put(const std::optional<T>& value, T& where) {
  if (value) where = *value;
  return value.has_value();
}

template <Probability FaultRule::*Member>
bool read_chance(std::string_view value, FaultSpec& /*spec*/, FaultRule& rule) {
  return put(parse_probability(value), rule.*Member);
}

constexpr Word kWords[] = {
    {.key = "loss", .allowed = kChance, .read = read_chance<&FaultRule::loss>},
    {.key = "dup", .allowed = kChance, .read = read_chance<&FaultRule::duplicate>},
    {.key = "reorder", .allowed = kChance, .read = read_chance<&FaultRule::reorder>},
    {.key = "corrupt", .allowed = kChance, .read = read_chance<&FaultRule::corrupt>},
    {.key = "ecn", .allowed = kChance, .read = read_chance<&FaultRule::mark>},
    {.key = "delay",
     .allowed = "a time up to 10s, a range or either with a probability, as in 50us, 10us..200us "
                "or 1%:100us",
     .read = [](std::string_view value, FaultSpec&,
                FaultRule& rule) { return put(parse_delay(value), rule.delay); }},
    {.key = "drop",
     .allowed = "which packet of every QP, from 1, or QPN:which, as in 3 or 0x12:3",
     .read =
         [](std::string_view value, FaultSpec&, FaultRule& rule) {
           const auto drop = parse_drop(value);
           if (drop) rule.drops.push_back(*drop);
           return drop.has_value();
         },
     .repeats = true},
    {.key = "op",
     .allowed = "opcodes as nerve decode prints them, as in WRITE_ONLY, RC_SEND*, "
                "READ_RESPONSE*|ACK",
     .read = [](std::string_view value, FaultSpec&,
                FaultRule& rule) { return put(parse_opcodes(value), rule.opcodes); }},
    {.key = "qp",
     .allowed = "the number of the QP that packets are addressed to, as in 18 or 0x12",
     .read =
         [](std::string_view value, FaultSpec&, FaultRule& rule) {
           rule.qpn = parse_qpn(value);
           return rule.qpn.has_value();
         }},
    {.key = "seed",
     .allowed = "a number",
     .read = [](std::string_view value, FaultSpec& spec,
                FaultRule&) { return put(parse_number(value), spec.seed); }},
};

std::string quoted(std::string_view text) { return "'" + std::string{text} + "'"; }

std::string all_keys() {
  std::string keys;
  for (const Word& word : kWords) keys += (keys.empty() ? "" : ", ") + std::string{word.key};
  return keys;
}

bool does_something(const FaultRule& rule) {
  const auto chances = {rule.loss,    rule.duplicate, rule.reorder,
                        rule.corrupt, rule.mark,      rule.delay.probability};
  return !rule.drops.empty() ||
         std::ranges::any_of(chances, [](Probability chance) { return chance.parts > 0; });
}

class Parser {
 public:
  // Parses one rule into the specification. Returns an empty string, or the error.
  std::string rule(std::string_view text) {
    FaultRule rule;
    rule.opcodes.set();
    std::vector<std::string_view> seen;
    std::optional<std::string_view> left = text;
    while (left) {
      const auto [one, rest] = split_once(*left, ",");
      if (std::string why = word(trimmed(one), rule, seen); !why.empty()) return why;
      left = rest;
    }
    const bool only_seed = seen.size() == 1 && seen[0] == "seed";
    if (only_seed) return {};
    // A probability of zero is a fault that is turned off; a rule without any fault is a mistake.
    if (!does_something(rule) && std::ranges::all_of(seen, [](std::string_view key) {
          return key == "op" || key == "qp" || key == "seed";
        })) {
      return quoted(trimmed(text)) +
             " names packets but no fault; add one of loss, dup, reorder, corrupt, ecn, delay, "
             "drop";
    }
    spec_.rules.push_back(rule);
    return {};
  }

  [[nodiscard]] const FaultSpec& spec() const { return spec_; }

 private:
  std::string word(std::string_view text, FaultRule& rule, std::vector<std::string_view>& seen) {
    const auto [key, value] = split_once(text, "=");
    const auto* const known = std::ranges::find(kWords, trimmed(key), &Word::key);
    if (known == std::end(kWords)) {
      return quoted(text) + " is not a fault; faults are " + all_keys() + ", each as key=value";
    }
    const bool again = std::ranges::find(seen, known->key) != seen.end();
    if ((again && !known->repeats) || (known->key == "seed" && seeded_)) {
      return quoted(known->key) + " is given twice; separate rules with ';', and give one seed";
    }
    seen.push_back(known->key);
    seeded_ = seeded_ || known->key == "seed";
    if (value && known->read(trimmed(*value), spec_, rule)) return {};
    return quoted(text) + ": " + std::string{known->key} + " takes " + known->allowed;
  }

  FaultSpec spec_;
  bool seeded_{};
};

}  // namespace

Result<FaultSpec, std::string> parse_fault_spec(std::string_view text) {
  Parser parser;
  std::optional<std::string_view> left = text;
  while (left) {
    const auto [one, rest] = split_once(*left, ";");
    if (!trimmed(one).empty()) {
      if (std::string why = parser.rule(one); !why.empty()) return Unexpected{"fault " + why};
    }
    left = rest;
  }
  return parser.spec();
}

}  // namespace nerve::link
