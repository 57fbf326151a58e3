// Goal: keys are read from files that only their owner can read, and from no others.
#include "host/seal/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "host/seal/libcrypto.h"
#include "host/seal/policy.h"

namespace nerve::host {
namespace {

constexpr const char* kKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

class KeyFile : public testing::Test {
 protected:
  KeyFile()
      : path{std::filesystem::temp_directory_path() / ("nerve-key-" + std::to_string(::getpid()))} {
    std::filesystem::remove(path);
  }
  ~KeyFile() override { std::filesystem::remove(path); }

  void write(const std::string& text, mode_t mode = 0600) const {
    std::ofstream{path} << text;
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  [[nodiscard]] std::string problem() const {
    const auto keys = SealKeys::read(path);
    return keys ? "" : keys.error();
  }
  void expect_problem(const std::string& part) const {
    EXPECT_NE(problem().find(part), std::string::npos) << problem();
    EXPECT_EQ(problem().find(kKey), std::string::npos) << "a key in a message";
  }

  std::string path;
};

TEST_F(KeyFile, APresharedKeyIsForEveryPeer) {
  write(std::string{"psk = \""} + kKey + "\"\n");
  const auto keys = SealKeys::read(path);
  ASSERT_TRUE(keys) << keys.error();
  const auto credentials = keys->for_peer(wire::Gid::ipv4(10, 0, 0, 9));
  ASSERT_TRUE(credentials);
  const auto& key = std::get<seal::Preshared>(*credentials).key;
  EXPECT_EQ(key.bytes()[31], std::byte{0x1f});
}

TEST_F(KeyFile, PinnedKeysAreForTheirPeers) {
  write(std::string{"private = \""} + kKey + "\"\n[peers]\n\"10.0.0.2\" = \"" + kKey +
        "\"\n\"fd00::1\" = \"" + kKey + "\"\n");
  const auto keys = SealKeys::read(path);
  ASSERT_TRUE(keys) << keys.error();
  EXPECT_TRUE(keys->for_peer(wire::Gid::ipv4(10, 0, 0, 2)));
  EXPECT_FALSE(keys->for_peer(wire::Gid::ipv4(10, 0, 0, 3)));
}

TEST_F(KeyFile, MustBePrivate) {
  const std::string good = std::string{"psk = \""} + kKey + "\"\n";
  expect_problem("nerve key");  // it does not exist
  for (const mode_t mode : {0640, 0604, 0620, 0602}) {
    write(good, mode);
    expect_problem("chmod 600");
  }
  if (::geteuid() == 0) {
    write(good);
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    expect_problem("belongs to user 12345");
  }
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  expect_problem("");
  EXPECT_NE(problem(), "");
}

TEST_F(KeyFile, MistakesAreNamed) {
  write("psk = \"1234\"\n");
  expect_problem("psk must be 64 hexadecimal digits");
  write(std::string{"psk = \""} + std::string(64, 'g') + "\"\n");
  expect_problem("psk must be 64 hexadecimal digits");
  write("psk = 5\n");
  expect_problem("psk must be 64 hexadecimal digits");
  write(std::string{"private = \""} + kKey + "\"\n[peers]\nnowhere = \"" + kKey + "\"\n");
  expect_problem("'nowhere' is not an address");
  write("[peers]\n");
  expect_problem("neither psk nor private");
  write("psk = \n");
  expect_problem("not TOML");
}

TEST_F(KeyFile, NewFilesAreReadAndNotOverwritten) {
  seal::Crypto& crypto = **Libcrypto::load();
  ASSERT_EQ(make_preshared_key(crypto, path), std::nullopt);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(problem(), "");
  EXPECT_NE(make_preshared_key(crypto, path), std::nullopt);
  EXPECT_FALSE(make_private_key(crypto, path));
  std::filesystem::remove(path);
  const auto made = make_private_key(crypto, path);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->size(), 64U);
  EXPECT_EQ(problem(), "");
}

TEST(SealPolicy, TheLongestNetworkDecides) {
  const auto networks = parse_seal_networks("10.0.0.0/8=require,10.9.0.0/16=off,fd00::/8=prefer");
  ASSERT_TRUE(networks);
  const SealPolicy policy{.mode = SealMode::kOff, .networks = *networks};
  EXPECT_TRUE(policy.any());
  EXPECT_EQ(policy.mode_for(wire::Gid::ipv4(10, 1, 2, 3)), SealMode::kRequire);
  EXPECT_EQ(policy.mode_for(wire::Gid::ipv4(10, 9, 2, 3)), SealMode::kOff);
  EXPECT_EQ(policy.mode_for(wire::Gid::ipv4(11, 0, 0, 1)), SealMode::kOff);
  wire::Gid ipv6;
  ipv6.bytes[0] = std::byte{0xfd};
  EXPECT_EQ(policy.mode_for(ipv6), SealMode::kPrefer);
  EXPECT_FALSE(SealPolicy{}.any());
}

TEST(SealPolicy, NetworksHaveOneForm) {
  EXPECT_TRUE(parse_seal_networks("10.0.0.1=require"));
  EXPECT_TRUE(parse_seal_networks("0.0.0.0/0=prefer"));
  for (const char* wrong : {"10.0.0.0/33=require", "10.0.0.0/8", "10.0.0.0/8=always", "ten=require",
                            "10.0.0.0/=require", "=require", "::/129=off"}) {
    EXPECT_FALSE(parse_seal_networks(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace nerve::host
