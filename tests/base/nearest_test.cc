// Goal: a typing error finds the intended name, and nonsense finds none.
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace nerve {

TEST(Nearest, CountsEdits) {
  EXPECT_EQ(edits_between("", ""), 0U);
  EXPECT_EQ(edits_between("abc", ""), 3U);
  EXPECT_EQ(edits_between("", "abc"), 3U);
  EXPECT_EQ(edits_between("kitten", "sitting"), 3U);
  EXPECT_EQ(edits_between("doctor", "doctor"), 0U);
  EXPECT_EQ(edits_between("emcp", "ecmp"), 1U);  // a transposition
  EXPECT_EQ(edits_between("ab", "ba"), 1U);
}

TEST(Nearest, FindsTheIntendedName) {
  const std::array<std::string, 4> names = {"run", "stat", "doctor", "devices"};
  EXPECT_EQ(nearest_name("docter", names), "doctor");
  EXPECT_EQ(nearest_name("device", names), "devices");
  EXPECT_EQ(nearest_name("rn", names), "run");
  EXPECT_EQ(nearest_name("frobnicate", names), "");
  EXPECT_EQ(nearest_name("", names), "");
}

}  // namespace nerve
