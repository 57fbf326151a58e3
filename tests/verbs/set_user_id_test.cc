// Goal: a program that runs with more rights than its caller ignores the caller's variables.
// Method: a copy of this program that changes its user, which prints what it finds.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

// In libibverbs, though not in its public header.
extern "C" const char* ibv_get_sysfs_path(void);

namespace nerve {
namespace {

constexpr uid_t kOther = 4321;

// What the copy does.
TEST(SetUserId, PrintsTheSysfsPath) {
  ASSERT_NE(ibv_get_sysfs_path(), nullptr);
  std::printf("sysfs path: %s\n", ibv_get_sysfs_path());
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::array<char, 256> part{};
  while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe) != nullptr) {
    text += part.data();
  }
  if (pipe != nullptr) ::pclose(pipe);
  return text;
}

TEST(SetUserId, ProgramsIgnoreTheSysfsPathOfTheirCaller) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer starts its program again without address randomization, and "
                  "starting a program that changes its user turns it on again: for ever";
#endif
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string copy = testing::TempDir() + "nerve_set_user_id_" + std::to_string(::getpid());
  std::filesystem::copy_file("/proc/self/exe", copy);
  ASSERT_EQ(::chown(copy.c_str(), kOther, static_cast<gid_t>(-1)), 0);
  const auto run = [&](mode_t mode) {
    EXPECT_EQ(::chmod(copy.c_str(), mode), 0);
    return output_of("SYSFS_PATH=/planted " + copy +
                     " --gtest_filter=SetUserId.PrintsTheSysfsPath 2>&1");
  };
  const std::string plain = run(0755);
  const std::string privileged = run(04755);
  std::filesystem::remove(copy);
  EXPECT_NE(plain.find("sysfs path: /planted"), std::string::npos) << plain;
  if (privileged.find("sysfs path") == std::string::npos) {
    GTEST_SKIP() << "programs that change their user do not run here: " << privileged;
  }
  EXPECT_NE(privileged.find("sysfs path: /sys\n"), std::string::npos) << privileged;
}

}  // namespace
}  // namespace nerve
