// Goal: over UDP on one host no UC or UD message is lost, although the receiver's socket is small
// and its process is stopped now and then. Method: two senders and a receiver, each its own
// process; the receiver is stopped for 50 ms at a time, and every message must arrive.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "tests/verbs/pair.h"
#include "tests/verbs_ladder.h"

namespace verbs_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kSenders = 2;
constexpr std::uint32_t kMessages = 2000;  // per sender: forty times what the socket holds
constexpr std::uint32_t kBytes = 4096;
constexpr std::uint32_t kGrh = 40;
constexpr std::uint32_t kQkey = 0x1111'1111;
constexpr std::uint32_t kPsn = 7;
constexpr std::chrono::seconds kPatience{60};

// Data shared by the processes.
struct Board {
  std::array<std::atomic<std::uint32_t>, kSenders> sender_qpn;
  std::array<std::atomic<std::uint32_t>, kSenders> receiver_qpn;
  std::atomic<std::uint32_t> connected;
  std::atomic<std::uint32_t> sent;
  std::atomic<std::uint32_t> received;
  // The longest time that the receiver did not run: it was stopped, or had no CPU.
  std::atomic<Clock::duration> longest_pause;
};

// Waits for another process; fails the test if the condition is not met in time.
template <class Condition>
void wait_until(Condition condition) {
  const auto give_up = Clock::now() + kPatience;
  while (!condition()) {
    if (Clock::now() > give_up) ::_exit(2);
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}
void demand(bool holds) {
  if (!holds) ::_exit(1);
}

// One process: a device, memory and a CQ of its own, over UDP, with the default socket buffer of
// most machines (the kernel doubles the requested size).
struct Party {
  Party() {
    ::setenv("NERVE_TRANSPORT", "udp", 1);
    ::setenv("NERVE_SOCKET_BUFFER", "104K", 1);
    ::setenv("NERVE_PORT", "4797", 1);  // sockets that no other test has enlarged
    ibv_device** list = ibv_get_device_list(nullptr);
    demand(list != nullptr && list[0] != nullptr);
    context = ibv_open_device(list[0]);
    demand(context != nullptr);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 2 * kSenders * kMessages, nullptr, nullptr, 0);
    memory.resize(kGrh + kBytes);
    mr = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    demand(ibv_query_gid(context, 1, 0, &gid) == 0 && cq != nullptr && mr != nullptr);
  }

  ibv_qp* make(ibv_qp_type type) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {.max_send_wr = 64,
                .max_recv_wr = kMessages,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    init.qp_type = type;
    ibv_qp* qp = ibv_create_qp(pd, &init);
    demand(qp != nullptr);
    return qp;
  }

  void connect(ibv_qp* qp, std::uint32_t peer) {
    ibv_qp_attr attr{};
    attr.port_num = 1;
    attr.qkey = kQkey;
    attr.path_mtu = IBV_MTU_4096;
    attr.dest_qp_num = peer;
    attr.rq_psn = attr.sq_psn = kPsn;
    attr.ah_attr = address();
    demand(bring_qp_to(qp, IBV_QPS_RTS, attr) == 0);
  }
  [[nodiscard]] ibv_ah_attr address() const {
    ibv_ah_attr to{};
    to.is_global = 1;
    to.port_num = 1;
    to.grh.dgid = gid;
    return to;
  }

  void post_receive(ibv_qp* qp) {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(memory.data()), kGrh + kBytes, mr->lkey};
    ibv_recv_wr wr{.wr_id = 0, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad{};
    demand(ibv_post_recv(qp, &wr, &bad) == 0);
  }
  // The number of completions, all successful.
  std::uint32_t poll() {
    std::array<ibv_wc, 16> done{};
    const int count = ibv_poll_cq(cq, static_cast<int>(done.size()), done.data());
    demand(count >= 0);
    for (int i = 0; i < count; ++i) {
      demand(done[static_cast<std::size_t>(i)].status == IBV_WC_SUCCESS);
    }
    return static_cast<std::uint32_t>(count);
  }

  ibv_context* context{};
  ibv_pd* pd{};
  ibv_cq* cq{};
  ibv_mr* mr{};
  std::vector<std::byte> memory;
  ibv_gid gid{};
};

void receive(Board& board, ibv_qp_type type) {
  Party party;
  std::array<ibv_qp*, kSenders> qps{};
  for (std::uint32_t i = 0; i < kSenders; ++i) {
    qps[i] = party.make(type);
    board.receiver_qpn[i] = qps[i]->qp_num;
  }
  for (std::uint32_t i = 0; i < kSenders; ++i) {
    wait_until([&] { return board.sender_qpn[i] != 0; });
    party.connect(qps[i], board.sender_qpn[i]);
    for (std::uint32_t n = 0; n < kMessages; ++n) party.post_receive(qps[i]);
  }
  // Until everything has arrived, or nothing has come for long after everything was sent.
  auto last = Clock::now();
  auto now = last;
  board.connected = 1;
  while (board.received < kSenders * kMessages) {
    const std::uint32_t came = party.poll();
    board.received += came;
    const auto before = std::exchange(now, Clock::now());
    board.longest_pause = std::max(board.longest_pause.load(), now - before);
    if (came > 0 || board.sent < kSenders * kMessages) last = now;
    if (now - last > std::chrono::seconds{2}) break;
  }
}

void send(Board& board, ibv_qp_type type, std::uint32_t self) {
  Party party;
  ibv_qp* qp = party.make(type);
  board.sender_qpn[self] = qp->qp_num;
  wait_until([&] { return board.connected != 0; });
  party.connect(qp, board.receiver_qpn[self]);
  ibv_ah_attr to = party.address();
  ibv_ah* ah = ibv_create_ah(party.pd, &to);
  demand(ah != nullptr);
  const auto give_up = Clock::now() + kPatience;
  std::uint32_t under_way = 0;
  for (std::uint32_t n = 0; n < kMessages || under_way > 0;) {
    if (n < kMessages && under_way < 64) {
      ibv_sge sge{reinterpret_cast<std::uint64_t>(party.memory.data()), kBytes, party.mr->lkey};
      ibv_send_wr wr{};
      wr.sg_list = &sge;
      wr.num_sge = 1;
      wr.opcode = IBV_WR_SEND;
      wr.send_flags = IBV_SEND_SIGNALED;
      if (type == IBV_QPT_UD) {
        wr.wr.ud = {.ah = ah, .remote_qpn = board.receiver_qpn[self], .remote_qkey = kQkey};
      }
      ibv_send_wr* bad{};
      demand(ibv_post_send(qp, &wr, &bad) == 0);
      ++n;
      ++under_way;
    }
    const std::uint32_t done = party.poll();
    under_way -= done;
    board.sent += done;
    demand(Clock::now() < give_up);
  }
}

class Unreliable : public testing::TestWithParam<ibv_qp_type> {};

TEST_P(Unreliable, AStoppedReceiverLosesNoMessage) {
  void* memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& board = *new (memory) Board{};
  const auto start = [](auto work) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      work();
      ::_exit(0);
    }
    return pid;
  };
  const pid_t receiver = start([&] { receive(board, GetParam()); });
  std::vector<pid_t> all{receiver};
  for (std::uint32_t i = 0; i < kSenders; ++i) {
    all.push_back(start([&, i] { send(board, GetParam(), i); }));
  }
  const auto give_up = Clock::now() + kPatience;
  while (board.sent < kSenders * kMessages && Clock::now() < give_up) {
    if (board.connected != 0) {
      ::kill(receiver, SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
      ::kill(receiver, SIGCONT);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  for (const pid_t pid : all) {
    int status = -1;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0) << (pid == receiver ? "the receiver" : "a sender");
  }
  // Senders wait one second for a receiver (docs/host.md). If the machine is busier than that, the
  // test proves nothing.
  const Clock::duration pause = board.longest_pause;
  const std::uint32_t received = board.received;
  // With more than 32 processes on the machine, two may read one socket (docs/link-udp.md), and
  // packets that one reads for the other are lost until there is a ring between them.
  const auto socket = [](std::uint32_t qpn) { return qpn >> 14U & 31U; };
  bool shared = socket(board.sender_qpn[0]) == socket(board.sender_qpn[1]);
  for (const auto& qpn : board.sender_qpn) {
    shared = shared || socket(qpn) == socket(board.receiver_qpn[0]);
  }
  ::munmap(memory, sizeof(Board));
  if (pause > std::chrono::milliseconds{900}) GTEST_SKIP() << "the receiver got no processor";
  if (shared) GTEST_SKIP() << "the processes share a socket";
  EXPECT_EQ(received, kSenders * kMessages);
}

INSTANTIATE_TEST_SUITE_P(, Unreliable, testing::Values(IBV_QPT_UC, IBV_QPT_UD),
                         [](const auto& param) { return param.param == IBV_QPT_UC ? "Uc" : "Ud"; });

}  // namespace
}  // namespace verbs_test
