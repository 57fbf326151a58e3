// Goal: which interfaces become devices, and under which names, also while interfaces come and go.
#include "host/devices/device.h"

#include <gtest/gtest.h>

#include <utility>

namespace nerve::host {
namespace {

using Names = std::vector<std::pair<std::string, std::string>>;

Interface interface(const char* name) {
  Interface made;
  made.name = name;
  made.up = true;
  made.addresses.resize(1);
  return made;
}

Interface loopback() {
  Interface lo = interface("lo");
  lo.loopback = true;
  return lo;
}

Names names_of(std::span<const Device> devices) {
  Names names;
  for (const Device& device : devices) names.emplace_back(device.name, device.interface);
  return names;
}

TEST(ChooseDevices, UsesLoopbackOnlyIfThereIsNoOther) {
  EXPECT_EQ(names_of(choose_devices(std::vector{loopback()}, {})), (Names{{"nerve0", "lo"}}));
  EXPECT_EQ(names_of(choose_devices(std::vector{loopback(), interface("eth0")}, {})),
            (Names{{"nerve0", "eth0"}}));
}

TEST(ChooseDevices, LeavesOutInterfacesThatAreDownOrHaveNoAddress) {
  Interface down = interface("eth0");
  down.up = false;
  Interface mute = interface("eth1");
  mute.addresses.clear();
  EXPECT_EQ(names_of(choose_devices(std::vector{down, mute, interface("eth2")}, {})),
            (Names{{"nerve0", "eth2"}}));
}

TEST(ChooseDevices, UsesTheNamesThatTheUserChose) {
  const std::vector<DeviceName> wanted{{"a", "eth1"}, {"b", "eth1"}, {"c", "eth7"}};
  EXPECT_EQ(names_of(choose_devices(std::vector{interface("eth0"), interface("eth1")}, wanted)),
            (Names{{"a", "eth1"}, {"b", "eth1"}}));
}

// Regression: when another interface came up first, one was opened under a second name, and two
// engines answered for its addresses.
TEST(ChooseDevices, ADeviceInUseKeepsItsName) {
  const auto before = choose_devices(std::vector{interface("eth1")}, {});
  ASSERT_EQ(names_of(before), (Names{{"nerve0", "eth1"}}));
  const auto after = choose_devices(
      std::vector{interface("eth0"), interface("eth1"), interface("eth2")}, {}, before);
  EXPECT_EQ(names_of(after), (Names{{"nerve1", "eth0"}, {"nerve0", "eth1"}, {"nerve2", "eth2"}}));
  EXPECT_EQ(after[1].index, 0U);
}

}  // namespace
}  // namespace nerve::host
