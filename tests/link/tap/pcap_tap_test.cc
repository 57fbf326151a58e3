// Goal: a capture contains all packets, intact and readable, and writers do not damage each other's
// records. Method: files written here and read back with our own reader; two writers of one file in
// one process, which the locks distinguish like two processes.
#include "link/tap/pcap_tap.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/link/tap/frames.h"
#include "wire/capture.h"

namespace nerve::link {
namespace {

constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;
constexpr Time kStart{std::chrono::hours{5}};

class PcapTap : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "nerve_pcap_" + std::to_string(::getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name = "run.pcap") const {
    return folder_ + "/" + name;
  }
  [[nodiscard]] PcapOptions options(const std::string& name = "run.pcap") const {
    return {.file = path(name), .start = kStart, .start_wall_ns = kWall};
  }

  struct Seen {
    std::uint64_t time_ns{};
    std::uint32_t captured{};
    std::uint32_t original{};
    std::uint32_t psn{};
    bool good{};
  };
  // All records of a capture; a file that cannot be read to its end fails the test.
  static std::vector<Seen> read(const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    const Bytes bytes = std::as_bytes(std::span{text});
    std::vector<Seen> all;
    auto reader = wire::PcapReader::open(bytes);
    EXPECT_TRUE(reader) << file;
    if (!reader) return all;
    wire::PcapReader cursor = *reader;
    while (true) {
      const auto next = cursor.next();
      EXPECT_TRUE(next) << "a torn record in " << file;
      if (!next || !*next) return all;
      const wire::CaptureRecord& record = **next;
      Seen seen{.time_ns = record.time_ns,
                .captured = static_cast<std::uint32_t>(record.bytes.size()),
                .original = record.original_length};
      if (const auto packet = wire::decode_packet(record.bytes)) {
        seen.psn = packet->headers.bth.psn.value();
        seen.good = packet->icrc == wire::IcrcVerdict::kGood;
      }
      all.push_back(seen);
    }
  }

  std::string folder_;
};

std::shared_ptr<PcapFile> must_open(PcapOptions options) {
  const auto file = PcapFile::open(std::move(options));
  EXPECT_TRUE(file) << (file ? "" : file.error());
  return file ? *file : nullptr;
}

std::string why_not(PcapOptions options) {
  const auto file = PcapFile::open(std::move(options));
  EXPECT_FALSE(file);
  return file ? "" : file.error();
}

void send_one(Egress& egress, std::uint32_t psn, Time now = kStart, std::size_t payload = 16) {
  TestFrame made{"RC_SEND_ONLY", 0x12, psn, payload};
  const wire::Frame frame = made.frame();
  egress.send({&frame, 1}, now);
}

}  // namespace

TEST_F(PcapTap, RecordsWholePacketsInWallTime) {
  Recorder out;
  {
    const auto file = must_open(options());
    PcapEgress tap{out, *file};
    send_one(tap, 7, kStart + std::chrono::nanoseconds{1'500'000'001}, 5);
  }
  const auto seen = read(path());
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].time_ns, kWall + 1'500'000'001);
  EXPECT_EQ(seen[0].original, 20U + 8 + 12 + 5 + 3 + 4);
  EXPECT_EQ(seen[0].psn, 7U);
  EXPECT_TRUE(seen[0].good);
  EXPECT_EQ(out.psns(), std::vector<std::uint32_t>{7});
}

TEST_F(PcapTap, RecordsCorruptedPacketsAsTheyLeave) {
  Recorder out;
  TestFrame made{"RC_SEND_ONLY", 0x12, 9};
  const wire::Frame frame = made.frame();
  std::vector<std::byte> bytes(wire::udp_payload_size(frame));
  wire::encode_udp_payload(frame, {}, bytes);
  {
    const auto file = must_open(options());
    PcapEgress tap{out, *file};
    tap.send_bytes(frame.flow, bytes, kStart);
    bytes[20] ^= std::byte{1};
    tap.send_bytes(frame.flow, bytes, kStart);
  }
  const auto seen = read(path());
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen[0].good);
  EXPECT_FALSE(seen[1].good);
  EXPECT_EQ(out.sent.size(), 2U);
}

TEST_F(PcapTap, CutsPacketsAndStopsAtTheLimit) {
  PcapOptions wanted = options();
  wanted.snap_length = 60;
  wanted.packet_limit = 3;
  const auto file = must_open(wanted);
  Recorder out;
  PcapEgress tap{out, *file};
  for (std::uint32_t psn = 0; psn < 5; ++psn) send_one(tap, psn, kStart, 1000);
  file->flush();
  const auto seen = read(path());
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].captured, 60U);
  EXPECT_EQ(seen[0].original, 20U + 8 + 12 + 1000 + 4);
  EXPECT_EQ(file->counters().written, 3U);
  EXPECT_EQ(file->counters().limited, 2U);
  EXPECT_EQ(out.sent.size(), 5U);
}

TEST_F(PcapTap, TwoWritersShareAFile) {
  const auto one = must_open(options());
  EXPECT_FALSE(one->is_shared());
  const auto two = must_open(options());
  EXPECT_TRUE(one->is_shared());
  EXPECT_TRUE(two->is_shared());
  Recorder out;
  PcapEgress first{out, *one};
  PcapEgress second{out, *two};
  for (std::uint32_t psn = 0; psn < 100; ++psn) {
    send_one(psn % 2 == 0 ? first : second, psn, kStart, 3000);
    if (psn % 7 == 0) one->flush();
    if (psn % 11 == 0) two->flush();
  }
  one->flush();
  two->flush();
  const auto seen = read(path());
  EXPECT_EQ(seen.size(), 100U);
  std::vector<bool> met(100);
  for (const Seen& record : seen) met.at(record.psn) = record.good;
  EXPECT_EQ(std::ranges::count(met, true), 100);
}

TEST_F(PcapTap, AWriterThatHoldsTheLockDoesNotStopTheOthers) {
  PcapOptions wanted = options();
  wanted.buffer = 1;  // the minimum
  const auto file = must_open(wanted);
  Recorder out;
  PcapEgress tap{out, *file};
  const int fd = ::open(path().c_str(), O_RDWR | O_CLOEXEC);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = off_t{1} << 61;
  lock.l_len = 1;
  ASSERT_EQ(::fcntl(fd, F_OFD_SETLK, &lock), 0);
  constexpr std::uint32_t kMany = 500;  // 30 MB, twice as much as is buffered
  for (std::uint32_t psn = 0; psn < kMany; ++psn) send_one(tap, psn, kStart, 60'000);
  EXPECT_EQ(std::filesystem::file_size(path()), 0U);
  EXPECT_GT(file->counters().dropped, 0U);
  EXPECT_EQ(file->counters().dropped + file->counters().written, kMany);
  ::close(fd);  // releases the lock
  send_one(tap, kMany);
  file->flush();
  const auto seen = read(path());
  EXPECT_EQ(seen.size(), file->counters().written);
  EXPECT_EQ(seen.back().psn, kMany);
}

TEST_F(PcapTap, AFullDiskLeavesNoHalfRecord) {
  const auto file = must_open(options());
  Recorder out;
  PcapEgress tap{out, *file};
  send_one(tap, 0, kStart, 1000);
  file->flush();
  for (std::uint32_t psn = 1; psn < 5; ++psn) send_one(tap, psn, kStart, 1000);
  // A file size limit cuts a write short exactly like a full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit tight = before;
  tight.rlim_cur = 3000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  file->flush();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(read(path()).size(), 1U);
  EXPECT_EQ(file->counters().written, 1U);
  EXPECT_EQ(file->counters().dropped, 4U);
  send_one(tap, 5);
  EXPECT_EQ(file->counters().dropped, 5U);
  EXPECT_EQ(out.sent.size(), 6U);
}

TEST_F(PcapTap, WritesToRegularFilesOnly) {
  EXPECT_EQ(why_not({.file = "/dev/null"}),
            "capture /dev/null: not a regular file; name another file");
}

TEST_F(PcapTap, AppendsToItsOwnCapturesAndToNothingElse) {
  Recorder out;
  for (std::uint32_t psn = 0; psn < 2; ++psn) {
    const auto file = must_open(options());
    PcapEgress tap{out, *file};
    send_one(tap, psn);
  }
  EXPECT_EQ(read(path()).size(), 2U);
  std::ofstream{path("notes.txt")} << "do not overwrite me, for I am 24 bytes and more";
  EXPECT_EQ(why_not(options("notes.txt")),
            "capture " + path("notes.txt") +
                ": exists and is not a capture of nerve; remove it or name another file");
  EXPECT_NE(PcapFile::start_anew(path("notes.txt")), "");
  EXPECT_GT(std::filesystem::file_size(path("notes.txt")), 24U);
  EXPECT_EQ(why_not({.file = folder_ + "/none/x.pcap"}),
            "capture " + folder_ +
                "/none/x.pcap: No such file or directory; check that its folder exists and is "
                "writable");
}

TEST_F(PcapTap, OnlyTheUserCanReadACapture) {
  const auto file = must_open(options());
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

// In a folder that others can write, a link or an empty file may wait at the name of the capture.
TEST_F(PcapTap, FollowsNoLinkAndFillsNoFileOfAnotherUser) {
  std::filesystem::create_symlink(path("target"), path("link"));
  const std::string refused =
      "capture " + path("link") + ": a symbolic link; remove it or name another file";
  EXPECT_EQ(why_not(options("link")), refused);
  EXPECT_EQ(PcapFile::start_anew(path("link")), refused);
  EXPECT_FALSE(std::filesystem::exists(path("target")));

  std::ofstream{path("foreign")};
  if (::chown(path("foreign").c_str(), 4321, static_cast<gid_t>(-1)) != 0) {
    GTEST_SKIP() << "the rest needs root";
  }
  EXPECT_EQ(
      why_not(options("foreign")),
      "capture " + path("foreign") + ": belongs to another user; remove it or name another file");
}

TEST_F(PcapTap, ClearsACaptureThatNoProcessWrites) {
  Recorder out;
  {
    const auto file = must_open(options());
    PcapEgress tap{out, *file};
    send_one(tap, 1);
    file->flush();
    EXPECT_EQ(PcapFile::start_anew(path()), "");
    EXPECT_EQ(read(path()).size(), 1U);  // it is in use
  }
  EXPECT_EQ(PcapFile::start_anew(path()), "");
  EXPECT_EQ(std::filesystem::file_size(path()), 0U);
}

TEST_F(PcapTap, NamesContainThePid) {
  const auto file = must_open(options("run-%p-%p.pcap"));
  const std::string pid = std::to_string(::getpid());
  EXPECT_EQ(file->path(), path("run-" + pid + "-" + pid + ".pcap"));
}

TEST_F(PcapTap, ReceivedFramesAreCapturedOnce) {
  const auto here = must_open(options());
  Recorder engine;
  const auto local = [](const wire::Gid& gid) { return gid == kHere; };
  PcapSink sink{engine, *here, PcapDirection::kSent, {.is_local = local, .is_own{}, .passes{}}};
  PcapSink both{engine, *here, PcapDirection::kBoth, {.is_local = local, .is_own{}, .passes{}}};
  PcapSink remote{engine, *here, PcapDirection::kSent, {}};
  const auto deliver = [](FrameSink& to, std::uint32_t psn) {
    TestFrame made{"RC_SEND_ONLY", 0x12, psn};
    const wire::Frame frame = made.frame();
    to.deliver({&frame, 1}, kStart);
  };
  deliver(sink, 0);  // no other process writes this file, so the sender has not captured it
  const auto peer = must_open(options());
  deliver(sink, 1);  // the sender may have captured it
  deliver(both, 2);
  deliver(remote, 3);
  here->flush();
  std::vector<std::uint32_t> psns;
  for (const Seen& seen : read(path())) psns.push_back(seen.psn);
  EXPECT_EQ(psns, (std::vector<std::uint32_t>{0, 2, 3}));
  EXPECT_EQ(engine.sent.size(), 4U);
}

TEST_F(PcapTap, OwnAndForwardedFramesAreNotCapturedAgain) {
  const auto file = must_open(options());
  Recorder engine;
  const auto psn_is = [](std::uint32_t psn) {
    return [psn](const wire::Frame& frame) { return frame.headers.bth.psn.value() == psn; };
  };
  const PcapSink::Origins origins{.is_local = [](const wire::Gid& gid) { return gid == kHere; },
                                  .is_own = psn_is(1),
                                  .passes = psn_is(2)};
  PcapSink sent{engine, *file, PcapDirection::kSent, origins};
  PcapSink both{engine, *file, PcapDirection::kBoth, origins};
  std::vector<TestFrame> made;
  for (std::uint32_t psn = 0; psn < 3; ++psn) made.emplace_back("RC_SEND_ONLY", 0x12, psn);
  for (TestFrame& one : made) {
    const wire::Frame frame = one.frame();
    sent.deliver({&frame, 1}, kStart);
    both.deliver({&frame, 1}, kStart);
  }
  file->flush();
  std::vector<std::uint32_t> psns;
  for (const Seen& seen : read(path())) psns.push_back(seen.psn);
  EXPECT_EQ(psns, (std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_EQ(engine.sent.size(), 6U);
}

}  // namespace nerve::link
