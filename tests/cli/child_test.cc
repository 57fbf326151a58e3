// Goal: a program that we start is ended in time, with all processes it started, and its output is
// kept.
#include "cli/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace nerve::cli {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ChildTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(log_); }
  Child shell(const std::string& script, const host::Environment& environment = {}) {
    return Child{{"/bin/sh", "-c", script}, environment, log_};
  }
  std::string log_ = testing::TempDir() + "nerve_child_" + std::to_string(::getpid());
};

TEST_F(ChildTest, ReportsHowItEnded) {
  const Child::Ended well = shell("echo $A; echo b >&2", {{"A", "a"}}).wait(seconds{10});
  EXPECT_TRUE(well.well);
  EXPECT_EQ(well.text, "a\nb\n");
  EXPECT_EQ(shell("exit 3").wait(seconds{10}).why, "exit code 3");
  EXPECT_EQ(shell("kill -9 $$").wait(seconds{10}).why, "killed by signal 9");
  Child missing{{"/no/such/program"}, {}, log_};
  EXPECT_EQ(missing.wait(seconds{10}).why, "exit code 127");
}

TEST_F(ChildTest, KillsItsDescendants) {
  Child child = shell("sleep 1000 & echo $!; wait");
  Child::Ended ended = child.wait(milliseconds{300});
  EXPECT_EQ(ended.why, "not done after 0 s");
  const pid_t grandchild = std::atoi(ended.text.c_str());
  ASSERT_GT(grandchild, 0);
  // Dead, and perhaps not reaped yet.
  const auto lives = [&] {
    std::ifstream words{"/proc/" + std::to_string(grandchild) + "/cmdline"};
    return words.peek() != std::ifstream::traits_type::eof();
  };
  for (int i = 0; i < 10'000 && lives(); ++i) ::usleep(1000);
  EXPECT_FALSE(lives());
}

TEST_F(ChildTest, AFreePortHasNoListener) {
  Child child = shell("sleep 1000");
  EXPECT_FALSE(wait_until_listening(child, free_tcp_port(), milliseconds{50}));
}

}  // namespace nerve::cli
