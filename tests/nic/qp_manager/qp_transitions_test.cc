// Goal: every (type, from, to, attributes) combination is accepted or rejected as in the standard.
// Method: the expectation is written a second time, per type and in words; all transitions are
// tried, complete, with each required attribute left out, and with each foreign one added.
#include "nic/qp_manager/qp_transitions.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/prng.h"
#include "tests/seeds.h"

namespace nerve::nic {
namespace {

// type: from>to required ... ? optional ...
constexpr const char* kExpected = R"(
rc: reset>init pkey port access ?
rc: init>init ? pkey port access
rc: init>rtr path mtu dest rqpsn maxdest minrnr ? alt access pkey rate
rc: rtr>rts timeout retry rnr sqpsn maxread ? cur alt access minrnr mig rate
rc: rts>rts ? cur access alt mig minrnr rate
rc: rts>sqd ? notify
rc: sqd>sqd ? port path timeout retry rnr maxread maxdest alt access pkey minrnr mig
rc: sqd>rts ? cur alt access minrnr mig
uc: reset>init pkey port access ?
uc: init>init ? pkey port access
uc: init>rtr path mtu dest rqpsn ? alt access pkey
uc: rtr>rts sqpsn ? cur alt access mig
uc: rts>rts ? cur access alt mig
uc: rts>sqd ? notify
uc: sqd>sqd ? path alt access pkey mig
uc: sqd>rts ? cur alt access mig
uc: sqe>rts ? cur access
ud: reset>init pkey port qkey ?
ud: init>init ? pkey port qkey
ud: init>rtr ? pkey qkey
ud: rtr>rts sqpsn ? cur qkey
ud: rts>rts ? cur qkey
ud: rts>sqd ? notify
ud: sqd>sqd ? pkey qkey
ud: sqd>rts ? cur qkey
ud: sqe>rts ? cur qkey
gsi: reset>init pkey qkey ?
gsi: init>init ? pkey qkey
gsi: init>rtr ? pkey qkey
gsi: rtr>rts sqpsn ? cur qkey
gsi: rts>rts ? cur qkey
gsi: rts>sqd ? notify
gsi: sqd>sqd ? pkey qkey
gsi: sqd>rts ? cur qkey
gsi: sqe>rts ? cur qkey
xrc_send: reset>init pkey port access ?
xrc_send: init>init ? pkey port access
xrc_send: init>rtr path mtu dest rqpsn ? alt access pkey
xrc_send: rtr>rts timeout retry rnr sqpsn maxread ? cur alt access mig
xrc_send: rts>rts ? cur access alt mig
xrc_send: rts>sqd ? notify
xrc_send: sqd>sqd ? port path timeout retry rnr maxread alt access pkey mig
xrc_send: sqd>rts ? cur alt access mig
xrc_recv: reset>init pkey port access ?
xrc_recv: init>init ? pkey port access
xrc_recv: init>rtr path mtu dest rqpsn maxdest minrnr ? alt access pkey
xrc_recv: rtr>rts timeout sqpsn ? cur alt access minrnr mig
xrc_recv: rts>rts ? cur access alt mig minrnr
xrc_recv: rts>sqd ? notify
xrc_recv: sqd>sqd ? port path timeout maxdest alt access pkey minrnr mig
xrc_recv: sqd>rts ? cur alt access minrnr mig
)";

const std::map<std::string, QpAttrs> kWords{
    {"pkey", QpAttrs::kPkeyIndex},      {"port", QpAttrs::kPort},
    {"access", QpAttrs::kAccess},       {"qkey", QpAttrs::kQkey},
    {"path", QpAttrs::kPath},           {"mtu", QpAttrs::kPathMtu},
    {"dest", QpAttrs::kDestQp},         {"rqpsn", QpAttrs::kRqPsn},
    {"maxdest", QpAttrs::kMaxDestRead}, {"minrnr", QpAttrs::kMinRnrTimer},
    {"sqpsn", QpAttrs::kSqPsn},         {"timeout", QpAttrs::kTimeout},
    {"retry", QpAttrs::kRetryCount},    {"rnr", QpAttrs::kRnrRetry},
    {"maxread", QpAttrs::kMaxRead},     {"notify", QpAttrs::kSqdNotify},
    {"alt", QpAttrs::kAltPath},         {"mig", QpAttrs::kPathMigState},
    {"rate", QpAttrs::kRateLimit},      {"cur", QpAttrs::kCurState},
};

using Steps = std::map<std::string, TransitionRule>;  // "rc: init>rtr"

Steps expected_steps() {
  Steps steps;
  std::istringstream lines{kExpected};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::string type, step, word;
    if (!(words >> type >> step)) continue;
    TransitionRule rule;
    bool optional = false;
    while (words >> word) {
      if (word == "?")
        optional = true;
      else
        (optional ? rule.optional : rule.required) |= kWords.at(word);
    }
    steps[type + " " + step] = rule;
  }
  for (const char* type : {"rc", "uc", "ud", "gsi", "xrc_send", "xrc_recv"}) {
    for (const char* from : {"reset", "init", "rtr", "rts", "sqd", "sqe", "err"}) {
      steps[std::string{type} + ": " + from + ">reset"] = {};
      steps[std::string{type} + ": " + from + ">err"] = {};
    }
  }
  return steps;
}

std::string name_of(QpType type, QpState from, QpState to) {
  return std::string{to_string(type)} + ": " + to_string(from) + ">" + to_string(to);
}
QpAttrs attribute(std::uint32_t i) { return static_cast<QpAttrs>(1U << i); }

template <class F>
void for_each_step(F visit) {
  for (std::uint32_t type = 0; type < kQpTypes; ++type)
    for (std::uint32_t from = 0; from < kQpStates; ++from)
      for (std::uint32_t to = 0; to < kQpStates; ++to)
        visit(static_cast<QpType>(type), static_cast<QpState>(from), static_cast<QpState>(to));
}

std::string reason(const Status& status) { return status ? "done" : status.error().reason; }

}  // namespace

TEST(QpTransitions, HaveTheStepsAndAttributesOfTheStandard) {
  const Steps expected = expected_steps();
  std::size_t found = 0;
  for_each_step([&](QpType type, QpState from, QpState to) {
    const auto rule = transition_rule(type, from, to);
    const auto want = expected.find(name_of(type, from, to));
    ASSERT_EQ(rule.has_value(), want != expected.end()) << name_of(type, from, to);
    if (rule) {
      EXPECT_EQ(*rule, want->second) << name_of(type, from, to);
    }
    found += rule.has_value();
  });
  EXPECT_EQ(found, expected.size());
}

TEST(QpTransitions, RefuseEveryStepThatIsNotThere) {
  const Steps expected = expected_steps();
  for_each_step([&](QpType type, QpState from, QpState to) {
    if (expected.contains(name_of(type, from, to))) return;
    for (std::uint32_t i = 0; i < kQpAttrCount; ++i) {
      const Status got = check_transition(type, from, to, attribute(i));
      ASSERT_FALSE(got);
      EXPECT_EQ(got.error().code, ErrorCode::kInvalid);
      EXPECT_EQ(reason(got), std::string{"modify "} + to_string(from) + " to " + to_string(to) +
                                 ": no such transition");
    }
  });
}

TEST(QpTransitions, NameEveryMissingAndEveryForeignAttribute) {
  for (const auto& [name, rule] : expected_steps()) {
    SCOPED_TRACE(name);
    for_each_step([&, &rule = rule, &name = name](QpType type, QpState from, QpState to) {
      if (name_of(type, from, to) != name) return;
      EXPECT_TRUE(check_transition(type, from, to, rule.required));
      EXPECT_TRUE(check_transition(type, from, to, rule.required | rule.optional));
      const std::string prefix = std::string{"modify to "} + to_string(to);
      for (std::uint32_t i = 0; i < kQpAttrCount; ++i) {
        const QpAttrs one = attribute(i);
        if (contains(rule.required, one)) {
          EXPECT_EQ(reason(check_transition(type, from, to, without(rule.required, one))),
                    prefix + ": missing " + to_string(one));
        } else if (contains(rule.optional, one)) {
          EXPECT_TRUE(check_transition(type, from, to, rule.required | one));
        } else {
          EXPECT_EQ(reason(check_transition(type, from, to, rule.required | one)),
                    prefix + ": not allowed: " + to_string(one));
        }
      }
    });
  }
}

TEST(QpTransitions, ErrorsNameStatesAndAttributes) {
  using enum QpAttrs;
  const QpAttrs all_but_psn = kPath | kPathMtu | kDestQp | kMaxDestRead | kMinRnrTimer;
  EXPECT_EQ(reason(check_transition(QpType::kRc, QpState::kInit, QpState::kRtr, all_but_psn)),
            "modify to rtr: missing rq_psn");
  EXPECT_EQ(reason(check_transition(QpType::kRc, QpState::kReset, QpState::kRts, kNone)),
            "modify reset to rts: no such transition");
  EXPECT_EQ(reason(check_transition(QpType::kRc, QpState::kRts, QpState::kErr, kCaps)),
            "modify to err: not allowed: cap");
}

// An application may pass values outside the enum.
TEST(QpTransitions, RejectUnknownValues) {
  const auto state = static_cast<QpState>(200);
  EXPECT_FALSE(check_transition(QpType::kRc, state, QpState::kErr, QpAttrs::kNone));
  EXPECT_FALSE(check_transition(QpType::kRc, QpState::kRts, state, QpAttrs::kNone));
  EXPECT_FALSE(
      check_transition(static_cast<QpType>(99), QpState::kInit, QpState::kRtr, QpAttrs::kNone));
  const Status unknown =
      check_transition(QpType::kRc, QpState::kRts, QpState::kRts, static_cast<QpAttrs>(1U << 31));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().value, std::uint64_t{1} << 31);
  EXPECT_STREQ(to_string(state), "unknown state");
  EXPECT_STREQ(to_string(static_cast<QpType>(99)), "unknown type");
  EXPECT_STREQ(to_string(QpAttrs::kPath | QpAttrs::kPort), "unknown attribute");
  EXPECT_STREQ(to_string(QpAttrs::kNone), "unknown attribute");
}

// Random walks with random masks: a transition is accepted exactly when the rule allows it, and RTS
// is never reached in fewer than three accepted transitions from RESET.
TEST(QpTransitions, HoldOverRandomSequences) {
  test::for_each_seed(200, [](std::uint64_t seed) {
    Prng prng{seed};
    const auto type = static_cast<QpType>(prng.below(kQpTypes));
    auto state = QpState::kReset;
    std::uint32_t steps_from_reset = 0;
    for (int i = 0; i < 500; ++i) {
      const auto to = static_cast<QpState>(prng.below(kQpStates));
      const auto rule = transition_rule(type, state, to);
      auto given = static_cast<QpAttrs>(prng.next() & ((1U << kQpAttrCount) - 1));
      if (rule && prng.chance(800)) given = rule->required | (given & rule->optional);
      const bool good = rule && contains(given, rule->required) &&
                        contains(rule->required | rule->optional, given);
      ASSERT_EQ(check_transition(type, state, to, given).has_value(), good);
      if (!good) continue;
      steps_from_reset = to == QpState::kReset ? 0 : steps_from_reset + 1;
      if (to == QpState::kRts) {
        EXPECT_GE(steps_from_reset, 3u);
      }
      state = to;
    }
  });
}

namespace {
std::string words(QpAttrs attributes) {
  std::string text;
  for (std::uint32_t i = 0; i < kQpAttrCount; ++i) {
    if (!contains(attributes, attribute(i))) continue;
    text += (text.empty() ? "" : ", ") + std::string{to_string(attribute(i))};
  }
  return text.empty() ? "-" : text;
}

std::string rendered_table() {
  std::string text = "| type | step | required | optional |\n|---|---|---|---|\n";
  for_each_step([&](QpType type, QpState from, QpState to) {
    if (to == QpState::kReset || to == QpState::kErr) return;
    const auto rule = transition_rule(type, from, to);
    if (!rule) return;
    text += std::string{"| "} + to_string(type) + " | " + to_string(from) + " -> " + to_string(to) +
            " | " + words(rule->required) + " | " + words(rule->optional) + " |\n";
  });
  return text;
}
}  // namespace

TEST(QpTransitions, MatchTheDocumentedTable) {
  std::ifstream file{NERVE_SOURCE_DIR "/docs/qp-states.md"};
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(rendered_table()), std::string::npos)
      << "docs/qp-states.md must contain:\n"
      << rendered_table();
}

}  // namespace nerve::nic
