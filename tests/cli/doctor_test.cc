// Goal: `nerve doctor` finds what is present and what is missing, and says how to fix it. Method:
// the built program on this machine, in an environment with a fault, and the text by values.
#include <gtest/gtest.h>

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
  for (const char* name :
       {"kernel", "shared memory", "meeting", "waiting", "direct placement", "wake-ups",
        "open files", "addresses", "udp port 4791", "trains out", "trains in", "udp buffers",
        "library", "programs load", "offered paths", "mount namespace", "perftest"}) {
    EXPECT_TRUE(found.contains(name)) << name;
  }
  // Machines that run the tests can build us, so these must be ok.
  for (const char* name : {"kernel", "shared memory", "meeting", "waiting", "library"}) {
    EXPECT_EQ(found.at(name), "ok") << name;
  }
}

TEST(Doctor, NamesAMissingDevice) {
  const test::Outcome out = nerve("doctor", "NERVE_DEVICES=x=none0");
  EXPECT_EQ(out.exit_code, kExitFailed);
  EXPECT_NE(out.text.find("MISSING x                no interface is called none0\n"),
            std::string::npos)
      << out.text;
}

}  // namespace nerve::cli
