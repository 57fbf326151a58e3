// Goal: programs that `nerve run` starts find the paths they look for, in the requested way, and
// other programs do not. Method: the built program and stock tools.
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/run_plan.h"
#include "sysfs/namespace.h"
#include "tests/cli/program.h"

namespace nerve::cli::sysfs_test {
namespace {

using test::nerve;
using test::Outcome;

constexpr const char* kLook = "cat /sys/class/infiniband/nerve0/node_type";
constexpr const char* kCounter = "/sys/class/infiniband/nerve0/ports/1/counters/port_xmit_data";

// And a newline.
bool is_number(const std::string& text) {
  return text.size() > 1 && text.find_first_not_of("0123456789") == text.size() - 1;
}

class SysfsTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef NERVE_SANITIZED
    GTEST_SKIP() << "a sanitizer must be loaded before the program, and cat has none";
#endif
    if (::access("/sys/class/infiniband", F_OK) == 0) GTEST_SKIP() << "this machine has RDMA";
  }
};

}  // namespace

TEST(OfferChoice, IsPreloadForDynamicallyLinkedPrograms) {
  EXPECT_EQ(choose_offer(host::Offer::kAuto, "/proc/self/exe"), host::Offer::kPreload);
  EXPECT_EQ(choose_offer(host::Offer::kAuto, NERVE_SOURCE_DIR "/nerve"), host::Offer::kPreload);
  EXPECT_EQ(choose_offer(host::Offer::kAuto, "/no/such/file"), host::Offer::kPreload);
  EXPECT_EQ(choose_offer(host::Offer::kOff, "/proc/self/exe"), host::Offer::kOff);
}

TEST(OfferChoice, SetsTheVariables) {
  using Variables = host::Environment;
  EXPECT_EQ(run_environment({}, "/n", host::Offer::kPreload, {}),
            (Variables{{"LD_LIBRARY_PATH", "/n"},
                       {"LD_PRELOAD", "/n/libnerve-preload.so"},
                       {"NERVE_OFFER", "preload"}}));
  EXPECT_EQ(run_environment({}, "/n", host::Offer::kNamespace, {{"LD_PRELOAD", "a.so"}}),
            (Variables{{"LD_LIBRARY_PATH", "/n"},
                       {"LD_PRELOAD", "a.so:/n/libnerve-preload.so"},
                       {"NERVE_OFFER", "namespace"}}));
  // A run within a run.
  EXPECT_FALSE(run_environment({}, "/n", host::Offer::kPreload,
                               {{"LD_PRELOAD", "/n/libnerve-preload.so:a.so"}})
                   .contains("LD_PRELOAD"));
}

TEST_F(SysfsTest, ByPreload) {
  const Outcome found = nerve(std::string{"run --device nerve0=lo -- "} + kLook);
  EXPECT_EQ(found.text, "1: CA\n");
  EXPECT_EQ(found.exit_code, 0);
  const Outcome counter = nerve(std::string{"run --device nerve0=lo -- cat "} + kCounter);
  EXPECT_TRUE(is_number(counter.text)) << counter.text;
  EXPECT_NE(nerve(std::string{"run --offer off --device nerve0=lo -- "} + kLook).exit_code, 0);
  EXPECT_EQ(nerve("run --offer maybe -- true").exit_code, kExitUsage);
}

TEST_F(SysfsTest, ByNamespace) {
  if (const std::string why = sysfs::try_namespace(sysfs::current_tree()); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const std::string run = "run --offer namespace --device nerve0=lo -- ";
  EXPECT_EQ(nerve(run + "env -u LD_PRELOAD " + kLook).text, "1: CA\n");
  EXPECT_EQ(nerve(run + "sh -c 'test -c /dev/infiniband/uverbs0 && test -w /dev/infiniband/uverbs0 "
                        "&& echo x > /dev/null && test -d /sys/class/net/lo/'")
                .exit_code,
            0);
  // `nerve run` writes the counter.
  const Outcome counter = nerve(run + "env -u LD_PRELOAD sh -c 'sleep 1.5; cat " + kCounter + "'");
  EXPECT_TRUE(is_number(counter.text)) << counter.text;
  EXPECT_EQ(counter.exit_code, 0);
  // Nothing else has changed, neither inside nor outside.
  const std::string classes = "sh -c 'find /sys/class | grep -v infiniband | sort'";
  EXPECT_EQ(nerve(run + classes).text, nerve("run --offer off -- " + classes).text);
  const std::string who = "id -u; id -g; cd /dev && ls -L -I infiniband";
  EXPECT_EQ(nerve(run + "sh -c '" + who + "'").text,
            nerve("run --offer off -- sh -c '" + who + "'").text);
  EXPECT_NE(::access("/sys/class/infiniband", F_OK), 0);
  EXPECT_NE(::access("/dev/infiniband", F_OK), 0);
}

}  // namespace nerve::cli::sysfs_test
