// The policy file of a live process: read, refused with its place, replaced by the shipped one.
#include "host/config/policy_setting.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace nerve::host {
namespace {

Config learned(const std::string& policy) {
  Config config;
  config.congestion = nic::CcAlgorithm::kLearned;
  config.policy = policy;
  return config;
}

const std::string kShipped = std::string{NERVE_SOURCE_DIR} + "/policies/default.toml";

}  // namespace

TEST(PolicySetting, ReadsTheShippedFile) {
  const auto policy = read_policy_file(kShipped);
  ASSERT_TRUE(policy) << policy.error();
  EXPECT_EQ(*policy, nic::shipped_policy());
  const auto loaded = load_policy(learned(kShipped));
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(*loaded, nic::shipped_policy());
}

TEST(PolicySetting, IsNotReadUnlessItIsUsed) {
  EXPECT_EQ(load_policy(learned("")), nullptr);
  Config config = learned("/nowhere.toml");
  config.congestion = nic::CcAlgorithm::kDcqcn;
  EXPECT_EQ(load_policy(config), nullptr);
}

TEST(PolicySetting, BadFilesAreRefusedWithTheirPlace) {
  EXPECT_FALSE(read_policy_file("/nowhere.toml"));
  EXPECT_FALSE(read_policy_file("/"));
  EXPECT_FALSE(read_policy_file("/dev/zero"));
  const std::string file = testing::TempDir() + "nerve-bad-policy.toml";
  std::ofstream{file} << "version = 1\nversion = 1\n";
  const auto bad = read_policy_file(file);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error(), file + ":2: version: is there twice");
  EXPECT_EQ(load_policy(learned(file)), nullptr);
  (void)std::remove(file.c_str());
}

}  // namespace nerve::host
