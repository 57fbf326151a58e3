// Sizes and offsets that existing program binaries depend on. If a header of the distribution
// disagrees, libibverbs.so.1 must be reviewed before it is built with it.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <pthread.h>

#include <cstddef>

namespace {

// A mutex is 48 bytes on arm64 and 40 on x86-64. Structures that may grow, and have grown, are
// checked up to their last member in rdma-core 44.
constexpr std::size_t kLock = sizeof(pthread_mutex_t);

static_assert(sizeof(ibv_device) == 664);
static_assert(sizeof(verbs_context) == 608 + kLock);
static_assert(offsetof(verbs_context, context) == 320);
static_assert(offsetof(verbs_context, sz) == 312);
static_assert(sizeof(ibv_context_ops) == 256);
static_assert(sizeof(ibv_cq_ex) == 248 + kLock);
static_assert(offsetof(ibv_cq_ex, comp_mask) == sizeof(ibv_cq));
static_assert(sizeof(ibv_qp) == 120 + kLock);
static_assert(offsetof(ibv_qp_ex, wr_atomic_write) == 304 + kLock);
static_assert(sizeof(ibv_srq) == 88 + kLock);
static_assert(offsetof(ibv_port_attr, port_cap_flags2) == 48);
static_assert(sizeof(ibv_device_attr_ex) == 400);
static_assert(sizeof(ibv_wc) == 48);
static_assert(sizeof(ibv_send_wr) == 128);
static_assert(sizeof(ibv_mr) == 48);

// Vendors' libraries decide by the bytes after ibv_device whether a device is theirs.
TEST(Layout, NothingFollowsADevice) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_GT(count, 0);
  const auto* bytes = reinterpret_cast<const unsigned char*>(list[0]);
  for (std::size_t i = sizeof(ibv_device); i < sizeof(ibv_device) + 256; ++i) {
    EXPECT_EQ(bytes[i], 0) << i;
  }
  ibv_free_device_list(list);
}

TEST(Layout, AContextReportsItsSize) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_GT(count, 0);
  ibv_context* context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  ASSERT_NE(context, nullptr);
  const verbs_context* face = verbs_get_ctx(context);
  ASSERT_NE(face, nullptr);
  EXPECT_EQ(face->sz, sizeof(verbs_context));
  EXPECT_GE(context->num_comp_vectors, 1);
  EXPECT_EQ(ibv_close_device(context), 0);
}

}  // namespace
