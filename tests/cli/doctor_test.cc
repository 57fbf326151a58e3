// Goal: `nerve doctor` finds what is present and what is missing, and says how to fix it. Method:
// the built program on this machine, in an environment with a fault, and the text by values.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.h"
#include "cli/finding.h"
#include "tests/cli/program.h"

namespace nerve::cli {
namespace {

using test::nerve;

std::map<std::string, std::string> verdicts(const std::string& lines) {
  std::map<std::string, std::string> found;
  std::istringstream in{lines};
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object()) found[json.value("name", "?")] = json.value("verdict", "?");
  }
  return found;
}

}  // namespace

TEST(Finding, PrintsTheFixBelow) {
  EXPECT_EQ(finding_text({Verdict::kOk, "kernel", "Linux 6.1", ""}),
            "ok      kernel           Linux 6.1\n");
  EXPECT_EQ(finding_text({Verdict::kMissing, "devices", "none", "ip link set lo up"}),
            "MISSING devices          none\n                         -> ip link set lo up\n");
  EXPECT_EQ(finding_json({Verdict::kNote, "a", "b\xff", "c"}),
            "{\"verdict\":\"note\",\"name\":\"a\",\"detail\":\"b\xef\xbf\xbd\",\"fix\":\"c\"}\n");
}

TEST(Doctor, ChecksEverythingThatIsRequired) {
  const auto found = verdicts(nerve("doctor --json").text);
  for (const char* name : {"kernel", "shared memory", "meeting", "waiting", "direct placement",
                           "wake-ups", "open files", "addresses", "udp port 4791", "trains out",
                           "trains in", "udp buffers", "library", "programs load", "offered paths",
                           "mount namespace", "libcrypto", "sealing", "perftest"}) {
    EXPECT_TRUE(found.contains(name)) << name;
  }
  // Machines that run the tests can build us, so these must be ok.
  for (const char* name : {"kernel", "shared memory", "meeting", "waiting", "library"}) {
    EXPECT_EQ(found.at(name), "ok") << name;
  }
}

TEST(Doctor, MeasuresSealing) {
  const std::string text = nerve("doctor").text;
  EXPECT_NE(text.find("sealing          off: packets are not encrypted\n"), std::string::npos);
  const std::size_t line = text.find("libcrypto        OpenSSL 3.");
  ASSERT_NE(line, std::string::npos) << text;
  EXPECT_NE(text.find(" GB/s in packets of 4 KB; offered: ", line), std::string::npos) << text;
  EXPECT_EQ(text.find(" 0.0 GB/s", line), std::string::npos) << text;
}

TEST(Doctor, ChecksTheKeysOfSealedQps) {
  const std::string path = testing::TempDir() + "nerve_doctor_key_" + std::to_string(::getpid());
  std::filesystem::remove(path);
  const std::string seal = "NERVE_SEAL=require NERVE_SEAL_SUITES=aes256-gcm";
  const std::string keyed = seal + " NERVE_SEAL_KEY=" + path;
  const auto expect = [](const std::string& settings, const std::string& part) {
    const std::string text = nerve("doctor", settings).text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(seal, "MISSING sealing          require; no file with keys is given\n");
  expect(keyed, "-> create it with: nerve key " + path);
  ASSERT_EQ(nerve("key " + path).exit_code, kExitOk);
  expect(keyed, "ok      sealing          require; " + path + ": a key that all hosts have, only");
  expect(keyed, "; offered: aes256-gcm\n");
  expect(keyed + " NERVE_SEAL_KEY_LOG=/tmp/keys",
         "note    key log          the keys of sealed QPs");
  std::filesystem::permissions(path, std::filesystem::perms{0644});
  expect(keyed, "MISSING sealing          require; " + path + ": other users may read");
  expect(keyed, "-> run: chmod 600 " + path);
  std::filesystem::remove(path);
}

TEST(Doctor, NamesAMissingDevice) {
  const test::Outcome out = nerve("doctor", "NERVE_DEVICES=x=none0");
  EXPECT_EQ(out.exit_code, kExitFailed);
  EXPECT_NE(out.text.find("MISSING x                no interface is called none0\n"),
            std::string::npos)
      << out.text;
}

}  // namespace nerve::cli
