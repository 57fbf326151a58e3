// Goal: file, variables and defaults give the right configuration, in the right precedence, and
// every mistake is reported with its place. Method: files of the test's own and an environment that
// is a value.
#include "host/config/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "host/config/settings.h"

namespace nerve::host {
namespace {

using Problems = std::vector<std::string>;

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "nerve_config_" + std::to_string(::getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_ + "/nerve");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Returns the file's name.
  std::string write(const std::string& text, const std::string& name = "nerve/nerve.toml") {
    std::ofstream{folder_ + "/" + name} << text;
    return folder_ + "/" + name;
  }

  std::string folder_;
};

Config from_variable(const char* name, const std::string& value) {
  const LoadedConfig loaded = load_config({{name, value}});
  EXPECT_EQ(loaded.problems, Problems{}) << name << "=" << value;
  return loaded.config;
}

std::string problem_of(const char* name, const std::string& value) {
  const LoadedConfig loaded = load_config({{name, value}});
  EXPECT_EQ(loaded.config, Config{}) << "a bad value changes nothing";
  EXPECT_EQ(loaded.problems.size(), 1U) << name << "=" << value;
  return loaded.problems.empty() ? "" : loaded.problems[0];
}

}  // namespace

// Tables nested by dots are destroyed recursively.
TEST_F(ConfigTest, AFileWithTooManyDotsIsRefused) {
  const std::string file = write("a" + [] {
    std::string dots;
    for (int i = 0; i < 20'000; ++i) dots += ".a";
    return dots;
  }() + " = 1\n");
  const LoadedConfig loaded = load_config({{"NERVE_CONFIG", file}});
  EXPECT_EQ(loaded.problems, Problems{file + ": has more than 1024 dots; none of it is used"});
}

TEST_F(ConfigTest, ALongFileIsRefused) {
  const std::string file = write(std::string(70'000, '#'));
  const LoadedConfig loaded = load_config({{"NERVE_CONFIG", file}});
  EXPECT_EQ(loaded.problems, Problems{file + ": is longer than 65536 bytes; none of it is used"});
}

TEST_F(ConfigTest, AFileThatOthersCanWriteIsRefused) {
  const std::string file = write("transport = \"udp\"\n");
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  EXPECT_EQ(load_config({{"NERVE_CONFIG", file}}).problems,
            Problems{file + ": can be written by every user; chmod o-w it, none of it is used"});
  ASSERT_EQ(::chmod(file.c_str(), 0664), 0);
  EXPECT_EQ(load_config({{"NERVE_CONFIG", file}}).config.transport, Transport::kUdp);
}

TEST_F(ConfigTest, AFileOfAnotherUserIsRefused) {
  const std::string file = write("transport = \"udp\"\n");
  if (::chown(file.c_str(), 4321, static_cast<gid_t>(-1)) != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(load_config({{"NERVE_CONFIG", file}}).problems,
            Problems{file + ": belongs to uid 4321, not to uid " + std::to_string(::geteuid()) +
                     " or root; copy it, none of it is used"});
}

// As programs do to have no configuration.
TEST_F(ConfigTest, ADeviceFileMayBeWritableByAll) {
  EXPECT_EQ(load_config({{"NERVE_CONFIG", "/dev/null"}}).problems, Problems{});
}

TEST_F(ConfigTest, AnEmptyEnvironmentGivesTheDefaults) {
  // NERVE_RUN is set by `nerve run` and is no setting.
  const LoadedConfig loaded =
      load_config({{"HOME", folder_}, {"PATH", "/bin"}, {"NERVE_RUN", "4711"}});
  EXPECT_EQ(loaded.config, Config{});
  EXPECT_EQ(loaded.file, "");
  EXPECT_TRUE(loaded.problems.empty());
}

TEST_F(ConfigTest, ReadsVariablesOfEveryKind) {
  EXPECT_EQ(from_variable("NERVE_TRANSPORT", "shm").transport, Transport::kShm);
  EXPECT_EQ(from_variable("NERVE_PORT", "4792").port, 4792);
  EXPECT_EQ(from_variable("NERVE_PCAP", "/tmp/x.pcap").pcap, "/tmp/x.pcap");
  EXPECT_EQ(from_variable("NERVE_PCAP_DIRECTION", "both").pcap_direction, CaptureDirection::kBoth);
  EXPECT_EQ(from_variable("NERVE_PCAP_SNAP", "96").pcap_snap, 96U);
  EXPECT_EQ(from_variable("NERVE_PCAP_LIMIT", "1000").pcap_limit, 1000U);
  EXPECT_EQ(from_variable("NERVE_FAULT", "loss=1%").fault, "loss=1%");
  EXPECT_EQ(from_variable("NERVE_TRACE_FOLDER", "/tmp/t").trace_folder, "/tmp/t");
  EXPECT_EQ(from_variable("NERVE_TRACE_MESSAGES", "5").trace_messages, 5U);
  EXPECT_EQ(from_variable("NERVE_TRACE", "1"), Config{});  // of the tests
  EXPECT_EQ(from_variable("NERVE_RING_SIZE", "2M").ring_size, 2U << 20);
  EXPECT_EQ(from_variable("NERVE_MTU", "2048").mtu, nic::Mtu::k2048);
  EXPECT_EQ(from_variable("NERVE_MTU", "auto").mtu, std::nullopt);
  EXPECT_EQ(from_variable("NERVE_POLLING", "sleep").polling, PollWait::kSleep);
  EXPECT_EQ(from_variable("NERVE_OFFLOADS", "off").offloads, Offloads::kOff);
  EXPECT_EQ(from_variable("NERVE_CONGESTION", "dcqcn").congestion, nic::CcAlgorithm::kDcqcn);
  EXPECT_EQ(from_variable("NERVE_CONGESTION", "learned").congestion, nic::CcAlgorithm::kLearned);
  EXPECT_EQ(from_variable("NERVE_POLICY", "/tmp/p.toml").policy, "/tmp/p.toml");
  EXPECT_EQ(from_variable("NERVE_SOCKET_BUFFER", "512K").socket_buffer, 512U << 10);
  EXPECT_EQ(from_variable("NERVE_LOG", "debug").log, LogLevel::kDebug);
  EXPECT_TRUE(from_variable("NERVE_SUMMARY", "1").summary);
  EXPECT_EQ(from_variable("NERVE_TRANSPORT", ""), Config{});
  EXPECT_EQ(from_variable("NERVE_SEED", "7"), Config{});
  EXPECT_EQ(from_variable("NERVE_PROGRESS", "/tmp/x"), Config{});
  const Config devices = from_variable("NERVE_DEVICES", "nerve0=eth0,mine=lo,wlan0");
  EXPECT_EQ(devices.devices,
            (std::vector<DeviceName>{{"nerve0", "eth0"}, {"mine", "lo"}, {"nerve2", "wlan0"}}));
}

TEST_F(ConfigTest, ReadsAFileWithEveryKindOfValue) {
  const std::string file = write(R"(# all of it
transport = "udp"
port = 4792
summary = true
offloads = false
ring_size = "4M"
socket_buffer = 1048576
mtu = 1024
fault = "loss=1%; seed=3"

[devices]
nerve0 = "eth0"
nerve1 = "lo"
)");
  const LoadedConfig loaded = load_config({{"XDG_CONFIG_HOME", folder_}});
  EXPECT_EQ(loaded.problems, Problems{});
  EXPECT_EQ(loaded.file, file);
  const Config& config = loaded.config;
  EXPECT_EQ(config.transport, Transport::kUdp);
  EXPECT_EQ(config.port, 4792);
  EXPECT_TRUE(config.summary);
  EXPECT_EQ(config.offloads, Offloads::kOff);
  EXPECT_EQ(config.ring_size, 4U << 20);
  EXPECT_EQ(config.socket_buffer, 1U << 20);
  EXPECT_EQ(config.mtu, nic::Mtu::k1024);
  EXPECT_EQ(config.fault, "loss=1%; seed=3");
  EXPECT_EQ(config.devices, (std::vector<DeviceName>{{"nerve0", "eth0"}, {"nerve1", "lo"}}));
}

TEST_F(ConfigTest, AVariableOverridesTheFile) {
  const std::string file = write("transport = \"udp\"\nlog = \"info\"\ndevices = [\"a=lo\"]\n");
  const LoadedConfig loaded = load_config({{"NERVE_CONFIG", file}, {"NERVE_TRANSPORT", "shm"}});
  EXPECT_EQ(loaded.config.transport, Transport::kShm);
  EXPECT_EQ(loaded.config.log, LogLevel::kInfo);
  EXPECT_EQ(loaded.config.devices, (std::vector<DeviceName>{{"a", "lo"}}));
}

TEST_F(ConfigTest, TheHomeFolderIsSearchedLast) {
  std::filesystem::create_directories(folder_ + "/.config/nerve");
  const std::string file = write("log = \"info\"\n", ".config/nerve/nerve.toml");
  EXPECT_EQ(load_config({{"HOME", folder_}}).file, file);
  EXPECT_EQ(load_config({{"HOME", folder_}, {"XDG_CONFIG_HOME", "/none"}}).file, "");
}

TEST_F(ConfigTest, AMissingNamedFileIsReported) {
  const LoadedConfig loaded = load_config({{"NERVE_CONFIG", folder_ + "/none.toml"}});
  EXPECT_EQ(loaded.problems, Problems{"NERVE_CONFIG: " + folder_ +
                                      "/none.toml: cannot be read: No such file or directory; "
                                      "check the path and its permissions"});
  EXPECT_EQ(load_config({{"NERVE_CONFIG", folder_}}).problems.size(), 1U);  // a folder
}

TEST_F(ConfigTest, MistakesInAFileAreReportedWithTheirLine) {
  const std::string file = write(
      "log = \"info\"\n\ntransport = \"tcp\"\ntransprot = \"udp\"\n"
      "mtu = 1.5\nport = 0\n");
  const LoadedConfig loaded = load_config({{"NERVE_CONFIG", file}});
  ASSERT_EQ(loaded.problems.size(), 4U);
  EXPECT_EQ(loaded.problems[0],
            file + ":5: mtu: unsupported type of value; use a string, a number, true or false");
  EXPECT_EQ(loaded.problems[1], file + ":3: transport = 'tcp': transport takes auto, shm or udp");
  EXPECT_EQ(loaded.problems[2].rfind(file + ":4: no setting is called 'transprot'; there are "
                                            "transport, devices, port, ",
                                     0),
            0U);
  EXPECT_EQ(loaded.problems[3], file + ":6: port = '0': port takes a UDP port from 1 to 65535");
  Config expected;
  expected.log = LogLevel::kInfo;
  EXPECT_EQ(loaded.config, expected);
}

TEST_F(ConfigTest, InvalidTomlIsReportedWithItsLine) {
  const std::string file = write("log = \"info\"\ntransport = udp\n");
  const LoadedConfig loaded = load_config({{"NERVE_CONFIG", file}});
  ASSERT_EQ(loaded.problems.size(), 1U);
  EXPECT_EQ(loaded.problems[0].rfind(file + ":2: not TOML: ", 0), 0U) << loaded.problems[0];
  EXPECT_EQ(loaded.config, Config{});
}

TEST_F(ConfigTest, MistakesInVariablesAreReported) {
  EXPECT_EQ(problem_of("NERVE_TRANSPORT", "tcp"),
            "NERVE_TRANSPORT='tcp': transport takes auto, shm or udp");
  EXPECT_EQ(problem_of("NERVE_FAULT", "loss=200%"),
            "NERVE_FAULT='loss=200%': fault 'loss=200%': loss takes a probability from 0 to 100%, "
            "as in 1% or 0.01; 100% is every packet");
  EXPECT_EQ(problem_of("NERVE_TRANSPROT", "udp").rfind("NERVE_TRANSPROT: no such variable; ", 0),
            0U);
  struct Bad {
    const char* name;
    const char* value;
  };
  constexpr Bad kBad[] = {
      {"NERVE_PORT", "65536"},       {"NERVE_PORT", "-1"},
      {"NERVE_PORT", "4791 "},       {"NERVE_RING_SIZE", "3M"},
      {"NERVE_RING_SIZE", "32K"},    {"NERVE_RING_SIZE", "2G"},
      {"NERVE_RING_SIZE", "M"},      {"NERVE_RING_SIZE", "99999999999999999999G"},
      {"NERVE_MTU", "1500"},         {"NERVE_SUMMARY", "maybe"},
      {"NERVE_DEVICES", "a=b=c"},    {"NERVE_DEVICES", "a=lo,a=eth0"},
      {"NERVE_DEVICES", "=lo"},      {"NERVE_DEVICES", "a="},
      {"NERVE_DEVICES", "a b=lo"},   {"NERVE_DEVICES", "a=lo,,b=lo"},
      {"NERVE_DEVICES", "a=../etc"}, {"NERVE_DEVICES", "a=0123456789abcdef"},
      {"NERVE_LOG", "loud"},         {"NERVE_CONGESTION", "bbr"},
      {"NERVE_OFFLOADS", "2"},       {"NERVE_PCAP_DIRECTION", "received"},
      {"NERVE_POLLING", "block"},    {"NERVE_POLLING", "on"},
      {"NERVE_PCAP_SNAP", "10"},     {"NERVE_SOCKET_BUFFER", "1K"}};
  for (const Bad& bad : kBad) EXPECT_NE(problem_of(bad.name, bad.value), "");
}

// The table of settings is consistent: its defaults are those of Config, its names follow one rule,
// and docs/configuration.md lists all of them.
TEST_F(ConfigTest, TheTableOfSettingsIsConsistent) {
  std::ifstream in{NERVE_SOURCE_DIR "/docs/configuration.md"};
  const std::string page{std::istreambuf_iterator<char>{in}, {}};
  for (const Setting& setting : settings()) {
    std::string upper{setting.key};
    std::ranges::transform(upper, upper.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    EXPECT_EQ(setting.variable, "NERVE_" + upper);
    std::string dashed{setting.key};
    std::ranges::replace(dashed, '_', '-');
    EXPECT_EQ(setting.flag, setting.key == "devices" ? "--device" : "--" + dashed);
    EXPECT_FALSE(setting.help.empty());
    EXPECT_FALSE(setting.allowed.empty());
    EXPECT_NE(page.find("| `" + std::string{setting.key} + "` | `" + std::string{setting.variable} +
                        "` |"),
              std::string::npos)
        << "docs/configuration.md lacks " << setting.key;
    if (setting.fallback == "none" || setting.key == "devices" || setting.key == "policy") continue;
    Config config;
    EXPECT_EQ(apply(setting, setting.fallback, config), "");
    EXPECT_EQ(config, Config{}) << setting.key;
  }
}

}  // namespace nerve::host
