// `nerve decode` as a user calls it: its output and exit code.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.h"
#include "cli/file_bytes.h"
#include "tests/cli/decode_run.h"

namespace nerve::cli::decode_test {
namespace {

const std::string kCaptures = NERVE_SOURCE_DIR "/tests/golden/captures/";

std::string contents(const std::string& file) {
  std::ifstream in{file, std::ios::binary};
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// A temporary file of this test.
class Scratch {
 public:
  explicit Scratch(const std::string& bytes)
      : path_{testing::TempDir() + "nerve_decode_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()} {
    std::ofstream{path_, std::ios::binary} << bytes;
  }
  ~Scratch() { std::filesystem::remove(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST(Decode, CheckCountsGoodAndBad) {
  const std::string clean = kCaptures + "rc_pingpong_s1_pad3.pcap";
  const std::string corrupt = kCaptures + "corrupt_requester.pcap";
  const DecodeRun run = run_decode({"--check", clean, corrupt});
  EXPECT_EQ(run.exit_code, kExitOk);
  EXPECT_EQ(run.out, clean + ": 16 packets, 16 icrc good, 0 bad\n" + corrupt +
                         ": 34 packets, 31 icrc good, 3 bad\n");
  EXPECT_EQ(run.err, "");
}

TEST(Decode, PrintsPacketsInTheOrderOfTheirTimes) {
  constexpr std::size_t kFileHeader = 24;
  constexpr std::size_t kRecordHeader = 16;
  const auto packets_of = [](const std::string& bytes) {
    const Scratch file{bytes};
    const DecodeRun run = run_decode({file.path()});
    EXPECT_EQ(run.exit_code, kExitOk);
    return run.out;
  };
  const std::string bytes = contents(kCaptures + "rc_pingpong_s1_pad3.pcap");
  // Moves the first record to the end.
  const auto length = static_cast<unsigned char>(bytes[kFileHeader + 8]) + kRecordHeader;
  ASSERT_EQ(bytes[kFileHeader + 9], 0);
  const std::string moved = bytes.substr(0, kFileHeader) + bytes.substr(kFileHeader + length) +
                            bytes.substr(kFileHeader, length);
  EXPECT_EQ(packets_of(moved), packets_of(bytes));
}

TEST(Decode, PrintsALineForEachPacket) {
  const DecodeRun run = run_decode({kCaptures + "err_rkey_fadd.pcap"});
  EXPECT_EQ(run.exit_code, kExitOk);
  EXPECT_NE(run.out.find("10.77.0.3:56986 > 10.77.0.2 RC_FETCH_ADD qp=0x0000c8"),
            std::string::npos);
  EXPECT_NE(run.out.find("aeth[nak remote access, msn=0] payload=0 icrc=good"), std::string::npos);
  EXPECT_NE(run.out.find(": 2 packets, 2 icrc good, 0 bad"), std::string::npos);
}

TEST(Decode, JsonIsOneObjectPerLine) {
  const DecodeRun run = run_decode({"--json", kCaptures + "vt_basic_all_ops.pcap"});
  EXPECT_EQ(run.exit_code, kExitOk);
  std::istringstream lines{run.out};
  std::size_t packets = 0;
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);) {
    last = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    ASSERT_FALSE(last.is_discarded()) << line;
    if (last.contains("packet")) ++packets;
  }
  EXPECT_EQ(packets, 39U);
  EXPECT_EQ(last["summary"]["packets"], 39);
  EXPECT_EQ(last["summary"]["icrc_good"], 39);
}

TEST(Decode, EveryTruncationIsReported) {
  const std::string whole = contents(kCaptures + "err_rkey_fadd.pcap");
  const std::size_t first = 24 + 16 + 86;  // the file header and the first record
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const Scratch file{whole.substr(0, n)};
    const DecodeRun run = run_decode({"--check", file.path()});
    const bool between_records = n == 24 || n == first;
    EXPECT_EQ(run.exit_code, between_records ? kExitOk : kExitFailed) << n << " bytes";
    EXPECT_EQ(run.err.empty(), between_records);
  }
}

TEST(Decode, ReportsErrorsAndWhatToDo) {
  const Scratch garbage{"this is not a capture"};
  const DecodeRun run = run_decode({"--check", garbage.path()});
  EXPECT_EQ(run.exit_code, kExitFailed);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "nerve decode: " + garbage.path() +
                         ": not a pcap or pcapng file; give a file written by tcpdump -w, "
                         "Wireshark or nerve\n");
  const DecodeRun missing = run_decode({"/no/such/file"});
  EXPECT_EQ(missing.exit_code, kExitFailed);
  EXPECT_EQ(missing.err.rfind("nerve decode: /no/such/file: cannot open it: ", 0), 0U);
}

TEST(Decode, SkipsOtherTraffic) {
  std::string file = contents(kCaptures + "err_rkey_fadd.pcap");
  file[24 + 16 + 12] = 0x08;  // the first frame becomes ARP
  file[24 + 16 + 13] = 0x06;
  const Scratch scratch{file};
  const DecodeRun run = run_decode({"--check", scratch.path()});
  EXPECT_EQ(run.exit_code, kExitOk);
  EXPECT_EQ(run.out, scratch.path() + ": 1 packets, 1 icrc good, 0 bad, 1 skipped\n");
}

TEST(Decode, FailsOnAMalformedRoceFrame) {
  std::string file = contents(kCaptures + "err_rkey_fadd.pcap");
  file[24 + 16 + 14 + 20 + 5] = 9;  // a UDP length that contradicts the IP length
  const Scratch scratch{file};
  const DecodeRun run = run_decode({"--check", scratch.path()});
  EXPECT_EQ(run.exit_code, kExitFailed);
  EXPECT_EQ(run.out, scratch.path() + ": 2 packets, 1 icrc good, 0 bad\n");
  EXPECT_NE(run.err.find("packet 1: inconsistent length"), std::string::npos) << run.err;
}

TEST(Decode, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(run_decode({}).exit_code, kExitUsage);
  EXPECT_EQ(run_decode({"--bogus", "x"}).exit_code, kExitUsage);
  EXPECT_EQ(run_decode({"--check", "--json", "x"}).exit_code, kExitUsage);
}

// A link to a device that never ends must not fill the memory.
TEST(Decode, RefusesDevices) {
  const std::string link = testing::TempDir() + "nerve_decode_device_" + std::to_string(::getpid());
  std::filesystem::create_symlink("/dev/zero", link);
  const DecodeRun run = run_decode({link});
  std::filesystem::remove(link);
  EXPECT_EQ(run.exit_code, kExitFailed);
  EXPECT_EQ(run.err,
            "nerve decode: " + link + ": it is a device; give the path of a file, or a pipe\n");
}

TEST(FileBytes, AreLimited) {
  const Scratch file{std::string(5000, 'x')};
  EXPECT_EQ(read_bytes(file.path(), 5000).bytes.size(), 5000U);
  const FileBytes refused = read_bytes(file.path(), 4999);
  EXPECT_TRUE(refused.bytes.empty());
  EXPECT_TRUE(refused.error.starts_with("it is longer than ")) << refused.error;
}

}  // namespace nerve::cli::decode_test
