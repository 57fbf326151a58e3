// Devices, ports and their tables.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

TEST_F(Device, IsTheSamePointerEachTime) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_GT(count, 0);
  EXPECT_EQ(list[count], nullptr);
  EXPECT_EQ(list[0], context->device);
  EXPECT_STREQ(ibv_get_device_name(list[0]), list[0]->name);
  EXPECT_NE(ibv_get_device_guid(list[0]), 0U);
  ibv_free_device_list(list);
}

TEST_F(Device, HasNoKernelIndex) { EXPECT_EQ(ibv_get_device_index(context->device), -1); }

TEST_F(Device, ReportsItsAttributes) {
  ibv_device_attr_ex wide{};
  ASSERT_EQ(ibv_query_device_ex(context, nullptr, &wide), 0);
  ibv_device_attr attr{};
  ASSERT_EQ(ibv_query_device(context, &attr), 0);
  EXPECT_EQ(std::memcmp(&attr, &wide.orig_attr, sizeof attr), 0);
  EXPECT_GE(attr.max_sge, 2);
  EXPECT_EQ(attr.phys_port_cnt, 1);
  EXPECT_EQ(attr.node_guid, ibv_get_device_guid(context->device));
  EXPECT_EQ(wide.raw_packet_caps, 0U);
  EXPECT_EQ(wide.hca_core_clock, 1'000'000U);
  const ibv_query_device_ex_input unknown{.comp_mask = 1};
  EXPECT_EQ(ibv_query_device_ex(context, &unknown, &wide), EINVAL);
}

// Structures of older and newer headers: no byte beyond the given size is written, and fields
// unknown to the library are zero.
TEST_F(Device, PortAttributesFitTheCallersStructure) {
  const verbs_context* face = verbs_get_ctx(context);
  for (const std::size_t size : {std::size_t{48}, sizeof(ibv_port_attr), std::size_t{56}}) {
    std::array<unsigned char, 64> room{};
    room.fill(0xaa);
    ASSERT_EQ(face->query_port(context, 1, reinterpret_cast<ibv_port_attr*>(room.data()), size), 0);
    for (std::size_t i = size; i < room.size(); ++i) EXPECT_EQ(room[i], 0xaa);
    for (std::size_t i = sizeof(ibv_port_attr); i < size; ++i) EXPECT_EQ(room[i], 0);
  }
  ibv_port_attr attr{};
  ASSERT_EQ(ibv_query_port(context, 1, &attr), 0);
  EXPECT_EQ(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(attr.state, IBV_PORT_ACTIVE);
  EXPECT_EQ(attr.max_msg_sz, 1U << 31U);
  EXPECT_EQ(ibv_query_port(context, 2, &attr), EINVAL);
}

TEST_F(Device, GidsAreRoceVersion2) {
  ibv_gid_entry entry{};
  ASSERT_EQ(ibv_query_gid_ex(context, 1, 0, &entry, 0), 0);
  EXPECT_EQ(entry.gid_type, unsigned{IBV_GID_TYPE_ROCE_V2});
  EXPECT_NE(entry.ndev_ifindex, 0U);
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(context, 1, 0, &gid), 0);
  EXPECT_EQ(std::memcmp(gid.raw, entry.gid.raw, sizeof gid), 0);
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(context, 1, &port), 0);
  std::vector<ibv_gid_entry> table(static_cast<std::size_t>(port.gid_tbl_len));
  EXPECT_GE(ibv_query_gid_table(context, table.data(), table.size(), 0), 1);
  EXPECT_EQ(ibv_query_gid_table(context, table.data(), 0, 0), -EINVAL);
  EXPECT_EQ(ibv_query_gid_ex(context, 1, static_cast<std::uint32_t>(table.size()), &entry, 0),
            EINVAL);
  EXPECT_EQ(ibv_query_gid(context, 1, -1, &gid), -1);
  __be16 pkey{};
  ASSERT_EQ(ibv_query_pkey(context, 1, 0, &pkey), 0);
  EXPECT_EQ(pkey, 0xffff);
  EXPECT_EQ(ibv_get_pkey_index(context, 1, pkey), 0);
  EXPECT_EQ(ibv_query_pkey(context, 1, 1, &pkey), -1);
}

TEST_F(Device, AnAddressWithoutAnyDestinationIsRefused) {
  ibv_ah_attr attr{};
  attr.port_num = 1;
  EXPECT_EQ(ibv_create_ah(pd, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Device, ContextsCanBeImportedWithinTheProcess) {
  const int fd = ::dup(context->cmd_fd);
  ibv_context* imported = ibv_import_device(fd);
  ASSERT_NE(imported, nullptr);
  ibv_pd* same = ibv_import_pd(imported, pd->handle);
  ASSERT_NE(same, nullptr);
  std::array<char, 8> buffer{};
  ibv_mr* mr = ibv_reg_mr(same, buffer.data(), buffer.size(), IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  ibv_mr* again = ibv_import_mr(pd, mr->handle);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->lkey, mr->lkey);
  EXPECT_EQ(again->length, mr->length);
  ibv_unimport_mr(again);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  ibv_unimport_pd(same);
  EXPECT_EQ(ibv_import_pd(imported, 0xffff), nullptr);
  EXPECT_EQ(ibv_close_device(imported), 0);
  EXPECT_EQ(ibv_import_device(fd + 1000), nullptr);
  ::close(fd);
}

// Resources that a process lacked when it first asked for devices may be available later.
int open_with_few_descriptors(int free) {
  rlimit rich{};
  ::getrlimit(RLIMIT_NOFILE, &rich);
  const rlimit poor{.rlim_cur = 100, .rlim_max = rich.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &poor);
  int last = -1;
  for (int fd = 0; fd >= 0; fd = ::open("/dev/null", O_RDONLY)) last = std::max(last, fd);
  for (int i = 0; i < free; ++i) ::close(last - i);
  ibv_device** list = ibv_get_device_list(nullptr);
  if (list == nullptr || list[0] == nullptr) return 0;  // interfaces cannot be listed
  const ibv_context* refused = ibv_open_device(list[0]);
  const int why = errno;
  ::setrlimit(RLIMIT_NOFILE, &rich);
  if (refused == nullptr && why != EMFILE) return 1;
  return ibv_open_device(list[0]) != nullptr ? 0 : 2;
}

TEST(Devices, AHostWithoutDescriptorsCanRetry) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer makes a pipe to look at an object's type, and here it cannot";
#endif
  for (int free = 1; free < 12; ++free) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(open_with_few_descriptors(free));
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << free << " descriptors";
  }
}

}  // namespace
}  // namespace verbs_test
