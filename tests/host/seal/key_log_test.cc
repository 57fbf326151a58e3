// Goal: keys are written only to a file that nobody else can read, one whole line at a time, and
// are read back as they were.
#include "host/seal/key_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace nerve::host {
namespace {

KeyLine example(std::uint32_t spi = 0x1a2b3c4d) {
  KeyLine line{.suite = seal::Suite::kAes256Gcm,
               .source = wire::Gid::ipv4(10, 0, 0, 1),
               .destination = wire::Gid::ipv4(10, 0, 0, 2),
               .qpn = Qpn{0x12},
               .spi = spi,
               .secret = {}};
  for (std::size_t i = 0; i < 32; ++i) line.secret.bytes()[i] = static_cast<std::byte>(i);
  return line;
}

constexpr const char* kExample =
    "nerve-seal aes256-gcm 10.0.0.1 10.0.0.2 0x000012 0x1a2b3c4d "
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

class KeyLogFile : public testing::Test {
 protected:
  KeyLogFile()
      : path{(std::filesystem::temp_directory_path() / ("nerve-keys-" + std::to_string(::getpid())))
                 .string()} {
    std::filesystem::remove(path);
  }
  ~KeyLogFile() override { std::filesystem::remove(path); }

  [[nodiscard]] std::string problem() const {
    const auto log = KeyLog::open(path);
    return log ? "" : log.error();
  }
  void expect_problem(const std::string& part) const {
    EXPECT_NE(problem().find(part), std::string::npos) << problem();
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::ifstream in{path};
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }

  std::string path;
};

TEST(KeyLines, AreReadAsTheyWereWritten) {
  EXPECT_EQ(example().text(), std::string{kExample} + "\n");
  for (const seal::Suite suite : {seal::Suite::kAes128Gcm, seal::Suite::kAes256Gcm,
                                  seal::Suite::kChaCha20Poly1305, seal::Suite::kAes256Gmac}) {
    KeyLine line = example();
    line.suite = suite;
    line.destination.bytes = {std::byte{0xfd}, std::byte{0x77}};
    line.qpn = Qpn{0xff'ffff};
    line.spi = ~std::uint32_t{0};
    const std::string text = line.text();
    const auto read = KeyLine::parse(std::string_view{text}.substr(0, text.size() - 1));
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(read->text(), text);
  }
}

TEST(KeyLines, OfEveryTruncationAreRefused) {
  const std::string_view whole = kExample;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = KeyLine::parse(whole.substr(0, size));
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().find("00010203"), std::string::npos) << "a key in a message";
  }
  EXPECT_TRUE(KeyLine::parse(whole));
}

TEST(KeyLines, ThatAreWrongAreExplained) {
  const auto with = [](const std::string& old, const std::string& text) {
    std::string line = kExample;
    line.replace(line.find(old), old.size(), text);
    const auto read = KeyLine::parse(line);
    return read ? "" : read.error();
  };
  using std::string_literals::operator""s;
  EXPECT_EQ(with("nerve-seal", "CLIENT_RANDOM"), "it does not begin with nerve-seal");
  for (const char* wrong : {"aes", "aes128-gcm,aes256-gcm", "", "auto"}) {
    EXPECT_NE(with("aes256-gcm", wrong).find("suite"), std::string::npos) << wrong;
  }
  for (const std::string& wrong :
       {"10.0.0.300"s, ""s, "10.0.0.1/8"s, "10.0.0.1\0"s, std::string(100'000, 'f')}) {
    EXPECT_NE(with("10.0.0.1", wrong).find("address"), std::string::npos) << wrong;
  }
  for (const char* wrong : {"0x1000000", "12", "0x", "0x-1", "0x12 "}) {
    EXPECT_NE(with("0x000012", wrong), "") << wrong;
  }
  EXPECT_NE(with("0x1a2b3c4d", "0x1a2b3c4d5").find("SPI"), std::string::npos);
  EXPECT_NE(with("1e1f", "1e1f00").find("64"), std::string::npos);
  EXPECT_NE(with("1e1f", "1e1f x").find("64"), std::string::npos);
  EXPECT_NE(with("1e1f", "1eyz").find("64"), std::string::npos);
}

TEST_F(KeyLogFile, IsPrivateAndGrows) {
  for (std::size_t opened = 1; opened <= 2; ++opened) {
    const auto log = KeyLog::open(path);
    ASSERT_TRUE(log) << log.error();
    (*log)->write(example());
    EXPECT_EQ(lines(), std::vector<std::string>(opened, kExample));
  }
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(KeyLogFile, MustNotBeReadableByOthers) {
  for (const mode_t mode : {0640, 0604, 0620, 0602}) {
    std::ofstream{path} << "";
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    expect_problem("chmod 600");
  }
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(problem(), "");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    expect_problem("belongs to user 12345");
  }
}

TEST_F(KeyLogFile, IsAFileOfItsOwn) {
  std::filesystem::create_symlink(path + ".other", path);
  expect_problem("symbolic link");
  EXPECT_FALSE(std::filesystem::exists(path + ".other"));
  std::filesystem::remove(path);

  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expect_problem("not a regular file");
  std::filesystem::remove(path);

  std::filesystem::create_directory(path);
  EXPECT_NE(problem(), "");
  std::filesystem::remove(path);

  std::ofstream{path} << "a diary\n";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  expect_problem("not a log of keys");
  EXPECT_EQ(lines(), std::vector<std::string>{"a diary"});
}

TEST_F(KeyLogFile, IsSharedByProcesses) {
  constexpr int kProcesses = 4;
  constexpr std::uint32_t kLines = 500;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto log = KeyLog::open(path);
      for (std::uint32_t spi = 0; log && spi < kLines; ++spi) (*log)->write(example(spi));
      ::_exit(log ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto all = lines();
  EXPECT_EQ(all.size(), kProcesses * kLines);
  EXPECT_TRUE(std::ranges::all_of(
      all, [](const std::string& line) { return KeyLine::parse(line).has_value(); }));
}

}  // namespace
}  // namespace nerve::host
