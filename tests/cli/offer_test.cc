// Goal: programs that `nerve run` starts find the paths that they look for, in the way that was
// asked for, and nobody else does. Method: the built program and stock tools.
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/run_plan.h"
#include "offer/namespace.h"
#include "tests/cli/program.h"

namespace nerve::cli {
namespace {

using test::nerve;
using test::Outcome;

constexpr const char* kLook = "cat /sys/class/infiniband/nerve0/node_type";

class OfferTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef NERVE_SANITIZED
    GTEST_SKIP() << "a sanitizer must be loaded before the program, and cat has none";
#endif
    if (::access("/sys/class/infiniband", F_OK) == 0) GTEST_SKIP() << "this machine has RDMA";
  }
};

}  // namespace

TEST(OfferChoice, IsPreloadWhereThereIsALoader) {
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

TEST_F(OfferTest, ByPreload) {
  const Outcome found = nerve(std::string{"run --device nerve0=lo -- "} + kLook);
  EXPECT_EQ(found.text, "1: CA\n");
  EXPECT_EQ(found.exit_code, 0);
  EXPECT_NE(nerve(std::string{"run --offer off --device nerve0=lo -- "} + kLook).exit_code, 0);
  EXPECT_EQ(nerve("run --offer maybe -- true").exit_code, kExitUsage);
}

TEST_F(OfferTest, ByNamespace) {
  if (const std::string why = offer::try_namespace(offer::current_tree()); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const std::string run = "run --offer namespace --device nerve0=lo -- ";
  EXPECT_EQ(nerve(run + "env -u LD_PRELOAD " + kLook).text, "1: CA\n");
  EXPECT_EQ(nerve(run + "sh -c 'test -c /dev/infiniband/uverbs0 && test -w /dev/infiniband/uverbs0 "
                        "&& echo x > /dev/null && test -d /sys/class/net/lo/'")
                .exit_code,
            0);
  // Nothing else has changed, neither in there nor out here.
  const std::string classes = "sh -c 'find /sys/class | grep -v infiniband | sort'";
  EXPECT_EQ(nerve(run + classes).text, nerve("run --offer off -- " + classes).text);
  const std::string who = "id -u; id -g; cd /dev && ls -L -I infiniband";
  EXPECT_EQ(nerve(run + "sh -c '" + who + "'").text,
            nerve("run --offer off -- sh -c '" + who + "'").text);
  EXPECT_NE(::access("/sys/class/infiniband", F_OK), 0);
  EXPECT_NE(::access("/dev/infiniband", F_OK), 0);
}

}  // namespace nerve::cli
