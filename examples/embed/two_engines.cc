// Two RDMA engines in one program, joined by memory: a WRITE of 64 KB from one into the other, with
// its last packet lost on the way, so that a timer has to notice. There is no network, no thread
// and no clock: this program hands frames from engine to engine and decides what time it is.
#include <nic/nic.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using namespace nerve;
using namespace nerve::nic;

constexpr std::uint32_t kLength = 64 * 1024;
constexpr int kLostPacket = 64;  // the last one, at 1024 bytes each

template <class T>
T must(Expected<T> result) {
  if (!result) {
    std::fprintf(stderr, "two_engines: %s\n", result.error().reason);
    std::exit(1);
  }
  return *result;
}

// An engine with one RC QP and one region.
struct End {
  explicit End(std::uint8_t number) : gid{wire::Gid::ipv4(10, 0, 0, number)}, memory(kLength) {
    must(nic.set_gid(0, gid));
    const PdHandle pd = must(nic.alloc_pd());
    const auto address = reinterpret_cast<std::uint64_t>(memory.data());
    const Access access = Access::kLocalWrite | Access::kRemoteWrite;
    region = {.pd = pd, .address = address, .length = kLength, .iova = address, .access = access};
    keys = must(nic.keys_of(must(nic.register_mr(region))));
    cq = must(nic.create_cq({.depth = 16}));
    qp = must(nic.create_qp({.type = QpType::kRc,
                             .pd = pd,
                             .send_cq = cq,
                             .recv_cq = cq,
                             .caps = {.max_send_wr = 16, .max_recv_wr = 16}}));
  }

  // RESET, INIT, RTR, RTS, as with ibv_modify_qp; programs exchange these values beforehand.
  void connect(const End& peer) {
    QpAttributes set{.access = Access::kRemoteWrite,
                     .path_mtu = Mtu::k1024,
                     .dest_qp = must(peer.nic.query_qp(peer.qp)).qpn,
                     .timeout = 14,
                     .retry_count = 7,
                     .rnr_retry = 7};
    set.path.destination = peer.gid;
    using enum QpAttrs;
    must(nic.modify_qp(qp, QpState::kInit, kPkeyIndex | kPort | kAccess, set));
    must(nic.modify_qp(qp, QpState::kRtr,
                       kPath | kPathMtu | kDestQp | kRqPsn | kMaxDestRead | kMinRnrTimer, set));
    must(nic.modify_qp(qp, QpState::kRts, kSqPsn | kTimeout | kRetryCount | kRnrRetry | kMaxRead,
                       set));
  }

  Nic nic{NicConfig{}};
  wire::Gid gid;
  std::vector<unsigned char> memory;
  MrInit region;
  MrKeys keys;
  CqHandle cq;
  QpHandle qp;
};

// The network: hands on what `from` has to send, except for one packet. False when there was
// nothing.
bool carry(End& from, End& to, Time now, int& packets) {
  static TxBurst burst{64};
  from.nic.transmit(burst, now);
  for (const wire::Frame& frame : burst.frames()) {
    if (++packets != kLostPacket) to.nic.receive({&frame, 1}, now);
  }
  return !burst.empty();
}

}  // namespace

int main() {
  End a{1};
  End b{2};
  a.connect(b);
  b.connect(a);
  for (std::uint32_t i = 0; i < kLength; ++i) a.memory[i] = static_cast<unsigned char>(i * 7);

  const Sge source{a.region.address, kLength, a.keys.lkey};
  must(a.nic.post_send(a.qp, {.wr_id = 1,
                              .op = SendOp::kWrite,
                              .flags = SendFlags::kSignaled,
                              .sges = {&source, 1},
                              .remote_address = b.region.address,
                              .rkey = b.keys.rkey}));

  Time now{};
  int packets = 0;
  std::array<Completion, 1> done;
  while (must(a.nic.poll_cq(a.cq, done)) == 0) {
    while (carry(a, b, now, packets) || carry(b, a, now, packets)) {
    }
    // Nothing is under way: the next thing to happen is a timer.
    if (const auto due = a.nic.next_deadline()) {
      now = *due;
      a.nic.expire(now);
    }
  }
  const bool same = a.memory == b.memory && done[0].status == WcStatus::kSuccess;
  std::printf("WRITE of %u bytes: %s after %llu us and %d packets\n", kLength,
              same ? "complete" : "FAILED",
              static_cast<unsigned long long>(now.picoseconds() / 1000000), packets);
  return same ? 0 : 1;
}
