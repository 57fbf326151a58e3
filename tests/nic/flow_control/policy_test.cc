// Policies and their files: arithmetic against values computed by hand, round trips, every kind of
// damage.
#include "nic/flow_control/policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "base/prng.h"
#include "nic/flow_control/policy_file.h"

namespace nerve::nic::policy_test {
namespace {

constexpr std::int32_t kOne = Policy::kOne;

std::string read_file(const std::string& name) {
  std::string path{NERVE_SOURCE_DIR "/"};
  path += name;
  std::ifstream stream{path};
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

PolicyFile shipped_file() { return {"default", "tests", shipped_policy()}; }

// The text of a good file with a part replaced.
std::string damaged(const std::string& from, const std::string& to) {
  std::string text = text_of(shipped_file());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

PolicyError error_of(const std::string& text) {
  const auto file = read_policy(text);
  return file ? PolicyError{} : file.error();
}

}  // namespace

TEST(Policy, LogarithmsAreWithinAStepOfTheTruth) {
  EXPECT_EQ(log2_of(0), 0);
  EXPECT_EQ(log2_of(1), 0);
  EXPECT_EQ(log2_of(2), kOne);
  EXPECT_EQ(log2_of(std::uint64_t{1} << 63U), 63 * kOne);
  Prng prng{1};
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t value = (prng.next() >> prng.below(63)) | 1U;
    const double exact = std::log2(static_cast<double>(value)) * kOne;
    EXPECT_NEAR(log2_of(value), exact, 1.5) << value;
  }
}

// One path through the network: 0.5 x input * 2 + 0.25, halved by the last layer.
TEST(Policy, DecidesAsComputedByHand) {
  Policy policy;
  policy.scale.fill(kOne);
  policy.first[0] = kOne / 2;                // of the first input
  policy.first[Policy::kInputs] = kOne / 4;  // the bias
  policy.second[0] = 2 * kOne;
  policy.last[0] = kOne / 2;
  Policy::Inputs inputs{};
  EXPECT_EQ(decide(policy, inputs), kOne / 4);
  inputs[0] = kOne / 2;
  EXPECT_EQ(decide(policy, inputs), kOne / 2);
  inputs[0] = 6 * kOne;
  EXPECT_EQ(decide(policy, inputs), kOne) << "clipped";
  inputs[0] = -kOne;
  EXPECT_EQ(decide(policy, inputs), 0) << "max(0, x)";
  policy.last[Policy::kHidden] = -2 * kOne;
  EXPECT_EQ(decide(policy, inputs), -kOne);
}

// The extremes of weights and inputs do not overflow (a sanitizer build would notice).
TEST(Policy, HasNoOverflow) {
  Policy policy;
  policy.scale.fill(std::numeric_limits<std::int32_t>::max());
  policy.first.fill(std::numeric_limits<std::int16_t>::max());
  policy.second.fill(std::numeric_limits<std::int16_t>::max());
  policy.last.fill(std::numeric_limits<std::int16_t>::min());
  Policy::Inputs inputs;
  inputs.fill(std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(decide(policy, inputs), -kOne);
  inputs.fill(std::numeric_limits<std::int32_t>::min());
  EXPECT_LE(decide(policy, inputs), kOne);
}

TEST(PolicyFile, ShippedFileIsTheCompiledOne) {
  const auto file = read_policy(read_file("policies/default.toml"));
  ASSERT_TRUE(file) << text_of(file.error(), "policies/default.toml");
  EXPECT_EQ(file->policy, shipped_policy());
  EXPECT_EQ(objection_to(shipped_policy()), nullptr);
}

TEST(PolicyFile, IsReadAsItWasWritten) {
  const PolicyFile file = shipped_file();
  const auto read = read_policy(text_of(file));
  ASSERT_TRUE(read) << text_of(read.error(), "x");
  EXPECT_EQ(*read, file);
}

TEST(PolicyFile, ErrorsNameLineAndKey) {
  const PolicyError version = error_of(damaged("version = 1", "version = 2"));
  EXPECT_EQ(version.line, 2U);
  EXPECT_EQ(version.key, "version");
  EXPECT_EQ(version.message, "2 is not from 1 to 1");
  EXPECT_EQ(text_of(version, "x.toml"), "x.toml:2: version: 2 is not from 1 to 1");
  EXPECT_EQ(error_of(damaged("name = \"default\"", "name = 7")).message,
            "expected a text in quotes");
  EXPECT_EQ(error_of(damaged("name", "nane")).key, "name") << "missing";
  EXPECT_EQ(error_of(damaged("version = 1", "version = 1\nspeed = 3")).message,
            "is not a key of policies");
  EXPECT_EQ(error_of(damaged("version = 1", "version = 1\nversion = 1")).message, "is there twice");
  EXPECT_EQ(error_of(damaged("scale = [", "scale = [1, ")).message, "has 8 numbers; expected 7");
  EXPECT_EQ(error_of(damaged("last = [", "last = [x")).message, "expected a whole number");
  EXPECT_EQ(error_of(damaged("first = [\n", "first = [\n 40000,")).key, "first");
  EXPECT_EQ(error_of(std::string(kLongestPolicy + 1, '#')).line, 1U);
}

TEST(PolicyFile, EveryEditedNumberIsNoticed) {
  const std::string text = text_of(shipped_file());
  std::size_t edited = 0;
  for (std::size_t i = text.find("window"); i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    std::string other = text;
    other[i] = other[i] == '7' ? '3' : '7';
    EXPECT_FALSE(read_policy(other)) << "byte " << i;
    ++edited;
  }
  EXPECT_GT(edited, Policy::kFirst);
}

TEST(PolicyFile, EveryTruncationIsRefused) {
  const std::string text = text_of(shipped_file());
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    EXPECT_FALSE(read_policy(std::string_view{text}.substr(0, i))) << i;
  }
}

// Weights that make a policy dangerous are refused, with a hash that fits.
TEST(PolicyFile, ImplausiblePoliciesAreRefused) {
  PolicyFile file = shipped_file();
  for (std::int16_t& one : file.policy.last) one = static_cast<std::int16_t>(-one);
  EXPECT_NE(error_of(text_of(file)).message.find("refused"), std::string::npos);
  file = shipped_file();
  file.policy.last.fill(0);
  EXPECT_FALSE(read_policy(text_of(file)));
  file = shipped_file();
  file.policy.window = 1;
  EXPECT_FALSE(read_policy(text_of(file)));
  file = shipped_file();
  file.policy.high.fill(0);
  EXPECT_FALSE(read_policy(text_of(file)));
}

}  // namespace nerve::nic::policy_test
