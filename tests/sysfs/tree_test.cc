// Goal: the files of a device have the contents that Linux would give them. Method: trees of
// devices that are values.
#include "sysfs/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace nerve::sysfs {
namespace {

host::Device device(const std::string& name, std::uint32_t index) {
  return {.name = name,
          .interface = "eth7",
          .interface_index = 3,
          .index = index,
          .node_guid = 0x0011'22ff'fe33'4455,
          .gids = {wire::Gid::ipv4(10, 0, 1, 2)}};
}

class TreeTest : public testing::Test {
 protected:
  const Node* find(const std::string& path) const {
    const auto at = std::ranges::find(tree_, path, &Node::path);
    return at != tree_.end() ? &*at : nullptr;
  }
  std::string text(const std::string& path) const {
    const Node* const node = find(path);
    return node != nullptr ? node->text : "(none)";
  }

  std::vector<host::Device> devices_{device("nerve0", 0), device("mlx5_9", 1)};
  Tree tree_ = make_tree(devices_, {.all_cpus = "f"});
};

}  // namespace

TEST_F(TreeTest, DescribesADevice) {
  const std::string folder = "/sys/class/infiniband/nerve0";
  EXPECT_EQ(text(folder + "/node_type"), "1: CA\n");
  EXPECT_EQ(text(folder + "/node_guid"), "0011:22ff:fe33:4455\n");
  EXPECT_EQ(text(folder + "/sys_image_guid"), "0011:22ff:fe33:4455\n");
  EXPECT_EQ(text(folder + "/ports/1/state"), "4: ACTIVE\n");
  EXPECT_EQ(text(folder + "/ports/1/link_layer"), "Ethernet\n");
  EXPECT_EQ(text(folder + "/ports/1/lid"), "0x102\n");
  EXPECT_EQ(text(folder + "/ports/1/pkeys/0"), "0xffff\n");
  EXPECT_EQ(text(folder + "/ports/1/gids/0"), "0000:0000:0000:0000:0000:ffff:0a00:0102\n");
  EXPECT_EQ(text(folder + "/ports/1/gid_attrs/types/0"), "RoCE v2\n");
  EXPECT_EQ(text(folder + "/ports/1/gid_attrs/ndevs/0"), "eth7\n");
  EXPECT_EQ(text(folder + "/device/numa_node"), "-1\n");
  EXPECT_EQ(text(folder + "/device/local_cpus"), "f\n");
  EXPECT_EQ(text(folder + "/device/net/eth7"), "/sys/class/net/eth7");
}

TEST_F(TreeTest, AnEmptyEntryIsZeroAndHasNoAttributes) {
  const std::string port = "/sys/class/infiniband/nerve0/ports/1";
  EXPECT_EQ(text(port + "/gids/31"), "0000:0000:0000:0000:0000:0000:0000:0000\n");
  EXPECT_EQ(find(port + "/gids/32"), nullptr);
  EXPECT_EQ(find(port + "/gid_attrs/types/1"), nullptr);
}

TEST_F(TreeTest, NamesVerbsDevicesAsLibibverbsDoes) {
  EXPECT_EQ(text("/sys/class/infiniband_verbs/abi_version"), "6\n");
  EXPECT_EQ(text("/sys/class/infiniband_verbs/uverbs1/ibdev"), "mlx5_9\n");
  EXPECT_EQ(text("/sys/class/infiniband_verbs/uverbs1/dev"), "231:193\n");
  EXPECT_EQ(text("/sys/class/infiniband_verbs/uverbs1/device"),
            "/sys/class/infiniband/mlx5_9/device");
  const Node* const node = find("/dev/infiniband/uverbs1");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->kind, NodeKind::kCharDevice);
  EXPECT_EQ(node->minor_number, 193U);
}

TEST_F(TreeTest, ADownPortIsReportedAsDown) {
  devices_[0].up = false;
  tree_ = make_tree(devices_, {.all_cpus = "1"});
  EXPECT_EQ(text("/sys/class/infiniband/nerve0/ports/1/state"), "1: DOWN\n");
}

TEST_F(TreeTest, AFolderComesBeforeItsEntries) {
  std::set<std::string> folders{"/sys/class", "/dev"};
  for (const Node& node : tree_) {
    EXPECT_TRUE(folders.contains(node.path.substr(0, node.path.rfind('/')))) << node.path;
    if (node.kind != NodeKind::kFolder) continue;
    EXPECT_TRUE(folders.insert(node.path).second) << node.path;
  }
}

TEST_F(TreeTest, WithoutDevicesTheFoldersAreEmpty) {
  const Tree empty = make_tree({}, {.all_cpus = "1"});
  ASSERT_EQ(empty.size(), 4U);
  EXPECT_EQ(empty[0].path, "/sys/class/infiniband");
  EXPECT_EQ(empty[3].path, "/dev/infiniband");
}

TEST(Surroundings, ContainTheCpuMask) {
  const std::string mask = look_around().all_cpus;
  EXPECT_FALSE(mask.empty());
  EXPECT_EQ(mask.find_first_not_of("0123456789abcdef,"), std::string::npos) << mask;
  EXPECT_NE(mask.back(), '0');
}

TEST_F(TreeTest, CountersAreInTheUnitsOfLinux) {
  host::DeviceCounters counters;
  counters.engine.bytes_sent = 4000;
  counters.engine.frames_sent = 3;
  counters.engine.timeouts = 2;
  counters.direct.bytes_written = 96;
  tree_ =
      make_tree(devices_, {.all_cpus = "f", .traffic = {{.name = "mlx5_9", .counters = counters}}});
  const std::string port = "/sys/class/infiniband/mlx5_9/ports/1";
  EXPECT_EQ(text(port + "/counters/port_xmit_data"), "1024\n");  // words of four bytes
  EXPECT_EQ(text(port + "/counters/port_xmit_packets"), "3\n");
  EXPECT_EQ(text(port + "/counters/symbol_error"), "0\n");
  EXPECT_EQ(text(port + "/hw_counters/local_ack_timeout_err"), "2\n");
  EXPECT_EQ(text("/sys/class/infiniband/nerve0/ports/1/counters/port_xmit_data"), "0\n");
  EXPECT_TRUE(is_counter(port + "/hw_counters/out_of_buffer"));
  EXPECT_FALSE(is_counter(port + "/state"));
}

}  // namespace nerve::sysfs
