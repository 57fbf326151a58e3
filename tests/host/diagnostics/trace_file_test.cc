// Goal: a trace file is complete at every moment, a full disk does not end its program, and a child
// does not write to its parent's. Method: files in a folder, in processes that are forked for it.
#include "host/diagnostics/trace_file.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/host/endpoint.h"
#include "tests/host/process.h"
#include "tests/host/setting.h"

namespace nerve::host {
namespace {

using nic::TraceStep;

class TraceFileTest : public testing::Test {
 protected:
  void SetUp() override {
    config_.trace_folder = testing::TempDir() + "nerve_trace_file_" + std::to_string(::getpid());
    std::filesystem::create_directories(config_.trace_folder);
  }
  void TearDown() override { std::filesystem::remove_all(config_.trace_folder); }

  [[nodiscard]] std::string path(std::uint32_t slot) const {
    return config_.trace_folder + "/" + std::to_string(::getpid()) + "-" + std::to_string(slot) +
           ".trace";
  }
  static TraceHeader header_of(const std::string& path) {
    TraceHeader header{};
    std::ifstream file{path, std::ios::binary};
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    return header;
  }

  Config config_;
  std::vector<std::string> problems_;
};

TEST_F(TraceFileTest, HasItsProcessItsDevicesAndItsRecords) {
  const auto file = TraceFile::make(config_, 7, problems_);
  ASSERT_NE(file, nullptr) << problems_.front();
  Device device;
  device.name = "nerve0";
  device.gids = {wire::Gid::ipv4(10, 0, 0, 1)};
  file->add(device);
  file->trace().add({.id = 5, .step = TraceStep::kRegister});
  // While it is still open: that is what is left of a program that was killed.
  const TraceHeader header = header_of(path(7));
  EXPECT_EQ(header.magic, kTraceMagic);
  EXPECT_EQ(header.pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(header.slot, 7U);
  EXPECT_EQ(header.count, 1U);
  EXPECT_EQ(header.messages, 1000U);
  ASSERT_EQ(header.device_count, 1U);
  EXPECT_STREQ(header.devices[0].name.data(), "nerve0");
  EXPECT_STREQ(header.devices[0].address.data(), "10.0.0.1");
  EXPECT_EQ(header.devices[0].addresses[0], 0xffff'0a00'0001U);
}

TEST_F(TraceFileTest, AMissingFolderIsReported) {
  config_.trace_folder += "/none";
  EXPECT_EQ(TraceFile::make(config_, 7, problems_), nullptr);
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_NE(problems_[0].find("No such file or directory; nothing is traced"), std::string::npos);
}

TEST_F(TraceFileTest, AFileThatMayNotGrowIsNotMade) {
  const test::Process limited{[&](test::Line) {
    const rlimit little{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
    EXPECT_EQ(TraceFile::make(config_, 7, problems_), nullptr);
    EXPECT_EQ(problems_.size(), 1U);
  }};
}

TEST_F(TraceFileTest, AFullDiskEndsTheTraceAndNotTheProgram) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount a small file system";
  const test::Process confined{[&](test::Line) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", config_.trace_folder.c_str(), "tmpfs", 0, "size=3m") != 0) {
      return;  // a container without this right
    }
    const auto file = TraceFile::make(config_, 7, problems_);
    ASSERT_NE(file, nullptr) << problems_.front();
    constexpr std::uint64_t kRecords = 200'000;  // eight megabytes
    for (std::uint64_t i = 0; i < kRecords; ++i) file->trace().add({.step = TraceStep::kRegister});
    EXPECT_EQ(header_of(path(7)).count, kRecords);
  }};
}

#ifndef __SANITIZE_THREAD__  // does not let a forked child of a threaded process start a thread
TEST_F(TraceFileTest, AChildDoesNotWriteToItsParentsFile) {
  const test::Setting folder{"NERVE_TRACE_FOLDER", config_.trace_folder.c_str()};
  const test::Process parent{[&](test::Line) {
    test::Endpoint endpoint{4096};
    const auto files = [&] {
      std::vector<std::string> found;
      for (const auto& entry : std::filesystem::directory_iterator{config_.trace_folder}) {
        found.push_back(entry.path());
      }
      return found;
    };
    ASSERT_EQ(files().size(), 1U);
    const std::uint64_t before = header_of(files()[0]).count;
    EXPECT_GT(before, 0U);
    const pid_t child = ::fork();
    if (child == 0) {
      (void)endpoint.post_receive(1, 0, 100);
      const test::Endpoint own{4096};
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(files().size(), 2U);
    for (const std::string& file : files()) {
      const TraceHeader header = header_of(file);
      if (header.pid == static_cast<std::uint32_t>(::getpid())) {
        EXPECT_EQ(header.count, before);
      }
    }
  }};
}
#endif

}  // namespace
}  // namespace nerve::host
