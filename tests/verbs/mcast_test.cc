// Multicast: a datagram to a group reaches the attached QPs, in this process and in others, and no
// longer after they are detached.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>

#include "tests/verbs/pair.h"
#include "tests/verbs_ladder.h"

namespace verbs_test {
namespace {

constexpr std::uint32_t kQkey = 0x1234;
constexpr std::uint32_t kEverybody = 0xffffff;
constexpr std::size_t kGrh = 40;

// From the administratively scoped block, which does not leave the site.
ibv_gid group_of(std::uint8_t last) {
  return {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 77, 1, last}};
}

class Multicast : public Device {
 protected:
  struct Listener {
    ibv_cq* cq{};
    ibv_qp* qp{};
    std::array<std::uint8_t, 256> memory{};
    ibv_mr* mr{};
  };

  void SetUp() override {
    Device::SetUp();
    const ibv_gid any = group_of(1);
    open(sender);
    if (ibv_attach_mcast(sender.qp, &any, 0) != 0) GTEST_SKIP() << "no udp here";
    ASSERT_EQ(ibv_detach_mcast(sender.qp, &any, 0), 0);
    while (index < 16 && !is_ipv4(index)) ++index;
    if (index == 16) GTEST_SKIP() << "no IPv4 address";
  }
  void TearDown() override {
    close(sender);
    Device::TearDown();
  }

  bool is_ipv4(std::uint8_t at) const {
    ibv_gid gid{};
    return ibv_query_gid(context, 1, at, &gid) == 0 && gid.raw[10] == 0xff && gid.raw[11] == 0xff;
  }

  void open(Listener& listener) const {
    listener.cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = listener.cq;
    init.cap = {8, 8, 1, 1, 0};
    init.qp_type = IBV_QPT_UD;
    listener.qp = ibv_create_qp(pd, &init);
    ASSERT_NE(listener.qp, nullptr);
    listener.mr =
        ibv_reg_mr(pd, listener.memory.data(), listener.memory.size(), IBV_ACCESS_LOCAL_WRITE);
    ibv_qp_attr attr{};
    attr.port_num = 1;
    attr.qkey = kQkey;
    ASSERT_EQ(bring_qp_to(listener.qp, IBV_QPS_RTS, attr), 0);
    ibv_sge sge{reinterpret_cast<std::uint64_t>(listener.memory.data()), 128, listener.mr->lkey};
    ibv_recv_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad{};
    ASSERT_EQ(ibv_post_recv(listener.qp, &wr, &bad), 0);
  }

  static void close(Listener& listener) {
    EXPECT_EQ(ibv_destroy_qp(listener.qp), 0);
    EXPECT_EQ(ibv_destroy_cq(listener.cq), 0);
    EXPECT_EQ(ibv_dereg_mr(listener.mr), 0);
  }

  void send(const ibv_gid& group, std::uint8_t word) {
    ibv_ah_attr to{};
    to.is_global = 1;
    to.port_num = 1;
    to.grh.dgid = group;
    to.grh.sgid_index = index;
    to.grh.hop_limit = 64;
    ibv_ah* ah = ibv_create_ah(pd, &to);
    ASSERT_NE(ah, nullptr);
    sender.memory[128] = word;
    ibv_sge sge{reinterpret_cast<std::uint64_t>(&sender.memory[128]), 1, sender.mr->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.ud = {.ah = ah, .remote_qpn = kEverybody, .remote_qkey = kQkey};
    ibv_send_wr* bad{};
    ASSERT_EQ(ibv_post_send(sender.qp, &wr, &bad), 0);
    ibv_wc wc{};
    while (ibv_poll_cq(sender.cq, 1, &wc) == 0) {
    }
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_destroy_ah(ah), 0);
  }

  // The byte received, if one is.
  static std::optional<std::uint8_t> hear(Listener& listener, std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    ibv_wc wc{};
    while (std::chrono::steady_clock::now() < end) {
      if (ibv_poll_cq(listener.cq, 1, &wc) == 1) return listener.memory[kGrh];
    }
    return std::nullopt;
  }

  Listener sender;
  std::uint8_t index{};
};

constexpr std::chrono::seconds kLong{10};
constexpr std::chrono::milliseconds kShort{20};

TEST_F(Multicast, ReachesAttachedQps) {
  const ibv_gid group = group_of(2);
  Listener first;
  Listener second;
  Listener outside;
  for (Listener* listener : {&first, &second, &outside}) open(*listener);
  for (Listener* listener : {&first, &second}) {
    ASSERT_EQ(ibv_attach_mcast(listener->qp, &group, 0), 0);
  }
  send(group, 7);
  EXPECT_EQ(hear(first, kLong), 7);
  EXPECT_EQ(hear(second, kLong), 7);
  EXPECT_FALSE(hear(outside, kShort));
  for (Listener* listener : {&first, &second, &outside}) close(*listener);
}

TEST_F(Multicast, ReachesOtherProcesses) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer allows no new thread in the child of a fork";
#endif
  const ibv_gid group = group_of(3);
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    Device::SetUp();  // inherited objects belong to the parent
    Listener listener;
    open(listener);
    const int attached = ibv_attach_mcast(listener.qp, &group, 0);
    (void)!::write(ready[1], "r", 1);
    const bool heard = attached == 0 && hear(listener, kLong) == 9;
    ::_exit(heard ? 0 : 1);
  }
  char word{};
  ASSERT_EQ(::read(ready[0], &word, 1), 1);
  send(group, 9);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const int end : ready) ::close(end);
}

TEST_F(Multicast, EndsWhenTheQpIsDestroyed) {
  const ibv_gid group = group_of(4);
  Listener once;
  open(once);
  ASSERT_EQ(ibv_attach_mcast(once.qp, &group, 0), 0);
  EXPECT_EQ(ibv_detach_mcast(once.qp, &group, 0), 0);
  send(group, 5);
  EXPECT_FALSE(hear(once, kShort));
  ASSERT_EQ(ibv_attach_mcast(once.qp, &group, 0), 0);
  close(once);
  Listener next;  // its group can be joined again
  open(next);
  ASSERT_EQ(ibv_attach_mcast(next.qp, &group, 0), 0);
  send(group, 6);
  EXPECT_EQ(hear(next, kLong), 6);
  close(next);
}

}  // namespace
}  // namespace verbs_test
