#include "ai/verbs_transport.h"

#include <poll.h>
#include <sched.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace nerve::ai {
namespace {

constexpr std::uint32_t kRepostAt = 64;     // receives that are posted together
constexpr std::uint32_t kSignalEvery = 64;  // requests without a completion of their own
// From this length on, the data and its notification are two requests: a plain WRITE can be
// executed by the fastest path that a device has, which for Nerve is one copy by the kernel.
constexpr std::size_t kSeparateNotification = 16384;
constexpr int kPollBatch = 16;
constexpr int kPollsForDirect = 32;
constexpr std::uint32_t kPollsPerClock = 64;
// Polls in vain for this long before it sleeps: being woken takes some tens of microseconds.
constexpr std::chrono::microseconds kPollFor{2000};
constexpr std::chrono::microseconds kPollForIfShared{300};

}  // namespace

int VerbsTransport::post_receives(ibv_qp* qp, std::uint64_t id, std::uint32_t count) {
  // Only notifications consume receives, and they carry no data into them.
  std::array<ibv_recv_wr, kRepostAt> list{};
  while (count > 0) {
    const std::uint32_t batch = std::min(count, kRepostAt);
    for (std::uint32_t i = 0; i < batch; ++i) {
      list[i].wr_id = id;
      list[i].next = i + 1 < batch ? &list[i + 1] : nullptr;
    }
    ibv_recv_wr* bad = nullptr;
    if (const int error = ibv_post_recv(qp, list.data(), &bad); error != 0) return error;
    count -= batch;
  }
  return 0;
}

Status VerbsTransport::post(const Request& request, std::size_t index, ibv_wr_opcode opcode,
                            bool signal) {
  Lane& lane = lane_table_[index];
  const std::size_t device = device_of(request.lane);
  ibv_sge sge{reinterpret_cast<std::uint64_t>(request.local),
              static_cast<std::uint32_t>(request.length), 0};
  if (request.registration != nullptr) sge.lkey = request.registration->local_keys[device];
  ibv_send_wr wr{};
  wr.wr_id = index;
  wr.opcode = opcode;
  wr.sg_list = &sge;
  wr.num_sge = request.length == 0 ? 0 : 1;
  wr.wr.rdma = {.remote_addr = request.remote, .rkey = request.keys[device]};
  if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM) wr.imm_data = htobe32(*request.immediate);
  // Inline data is read by the CPU.
  if (opcode != IBV_WR_RDMA_READ && request.length > 0 && request.length <= kInline &&
      request.local_gpu() == nullptr) {
    wr.send_flags |= IBV_SEND_INLINE;
  }
  ++lane.posted;
  ++lane.unsignaled;
  if (signal || lane.unsignaled >= kSignalEvery) {
    wr.send_flags |= IBV_SEND_SIGNALED;
    lane.signaled[lane.next++ % kSendDepth] = {signal ? request.id : 0, lane.unsignaled};
    lane.unsignaled = 0;
  }
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(lane.qp, &wr, &bad);
  if (error == 0) return Done{};
  return failure(
      Error::Kind::kSystem,
      "cannot post a request to rank " + std::to_string(request.peer) + ": " + std::strerror(error),
      request.peer);
}

Status VerbsTransport::put(const Request& request) {
  if (lane_table_[index_of(request.peer, request.lane)].failed) return Done{};
  traffic_.bytes_put += request.length;
  ++traffic_.messages;
  if (request.immediate && request.length >= kSeparateNotification) return put_long(request);
  return post(request, qp_for(request),
              request.immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, request.id != 0);
}

// A device that copies directly completes a WRITE at once if its QP is idle: then the notification
// follows on the first QP, and the second stays idle for the next WRITE. The first time that it
// does not, the lane gives up: everything goes through the second QP from then on, in order. But a
// copy from or to a GPU always takes a while; there the notification waits for it.
Status VerbsTransport::put_long(const Request& request) {
  const std::size_t first = index_of(request.peer, request.lane);
  const std::size_t second = first + second_qps();
  Lane& lane = lane_table_[first];
  Request notification = request;
  notification.length = 0;
  notification.id = 0;
  poll(early_);
  if (Status data = post(request, second, IBV_WR_RDMA_WRITE, true); !data) return data;
  if (lane.one_qp) return post(notification, second, IBV_WR_RDMA_WRITE_WITH_IMM, false);
  for (int tries = 0; tries < kPollsForDirect && lane_table_[second].posted > 0; ++tries) {
    poll(early_);
  }
  if (lane.failed) return Done{};
  if (lane_table_[second].posted == 0) {
    return post(notification, first, IBV_WR_RDMA_WRITE_WITH_IMM, false);
  }
  if (lane.direct && request.uses_gpu()) {
    lane_table_[second].waiting = notification;
    return Done{};
  }
  lane.one_qp = true;
  if (lane.posted == 0) return post(notification, second, IBV_WR_RDMA_WRITE_WITH_IMM, false);
  // What was sent on the first QP must arrive before what follows on the second; an empty request
  // shows that it has.
  lane.waiting = notification;
  notification.immediate.reset();
  return post(notification, first, IBV_WR_RDMA_WRITE, true);
}

Status VerbsTransport::get(const Request& request) {
  if (lane_table_[index_of(request.peer, request.lane)].failed) return Done{};
  traffic_.bytes_got += request.length;
  ++traffic_.messages;
  return post(request, qp_for(request), IBV_WR_RDMA_READ, true);
}

void VerbsTransport::receive_consumed(Lane& lane, std::uint64_t id) {
  if (++lane.consumed < kRepostAt || lane.failed) return;
  lane.consumed = 0;
  (void)post_receives(lane.qp, id, kRepostAt);
}

void VerbsTransport::fail_lane(std::size_t first, const ibv_wc& wc, std::vector<Event>& events) {
  const int peer = static_cast<int>(first) / lanes_;
  const int number = static_cast<int>(first) % lanes_;
  events.push_back(
      {.kind = Event::Kind::kFailed,
       .peer = peer,
       .lane = number,
       .text = ibv_wc_status_str(wc.status),
       .refused = wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_REM_INV_REQ_ERR ||
                  wc.status == IBV_WC_REM_OP_ERR,
       .local = wc.status == IBV_WC_LOC_PROT_ERR || wc.status == IBV_WC_LOC_ACCESS_ERR ||
                wc.status == IBV_WC_LOC_QP_OP_ERR});
  for (const std::size_t index : {first, first + second_qps()}) {
    Lane& lane = lane_table_[index];
    lane.failed = true;
    for (; lane.first != lane.next; ++lane.first) {
      const std::uint64_t id = lane.signaled[lane.first % kSendDepth].id;
      if (id == 0) continue;
      events.push_back({.kind = Event::Kind::kAbandoned, .peer = peer, .lane = number, .id = id});
    }
  }
}

void VerbsTransport::handle(const ibv_wc& wc, std::vector<Event>& events) {
  const std::size_t index = wc.wr_id & ~kReceiveId;
  const std::size_t first = index % second_qps();
  Lane& lane = lane_table_[index];
  const int peer = static_cast<int>(first) / lanes_;
  const int number = static_cast<int>(first) % lanes_;
  if (wc.status != IBV_WC_SUCCESS) {
    if (!lane.failed) fail_lane(first, wc, events);
    return;
  }
  if ((wc.wr_id & kReceiveId) != 0) {
    receive_consumed(lane, wc.wr_id);
    events.push_back({.kind = Event::Kind::kNotified,
                      .peer = peer,
                      .lane = number,
                      .immediate = be32toh(wc.imm_data)});
    return;
  }
  if (lane.first == lane.next) return;  // abandoned before
  const Signaled done = lane.signaled[lane.first++ % kSendDepth];
  lane.posted -= done.requests;
  if (lane.waiting && lane.posted == 0) {
    const std::size_t other = index == first ? first + second_qps() : first;
    (void)post(*lane.waiting, other, IBV_WR_RDMA_WRITE_WITH_IMM, false);
    lane.waiting.reset();
  }
  if (done.id != 0) {
    events.push_back(
        {.kind = Event::Kind::kCompleted, .peer = peer, .lane = number, .id = done.id});
  }
}

void VerbsTransport::progress(std::vector<Event>& events) {
  if (!early_.empty()) {
    events.insert(events.end(), early_.begin(), early_.end());
    early_.clear();
  }
  poll(events);
  if (!events.empty()) rests_ = 0;
}

void VerbsTransport::rest() {
  ++rests_;
  if (shares_cpus_) ::sched_yield();
  if (rests_ % kPollsPerClock != 0) return;
  const Clock::time_point now = Clock::now();
  if (rests_ == kPollsPerClock) resting_since_ = now;
  if (now - resting_since_ >= (shares_cpus_ ? kPollForIfShared : kPollFor)) sleep();
}

// Until a completion arrives, for at most a millisecond. A completion that arrived before its CQ
// was armed causes no event, so poll once more in between.
void VerbsTransport::sleep() {
  std::array<pollfd, kMaxDevices> fds{};
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (ibv_req_notify_cq(devices_[i].cq, 0) != 0) return;
    fds[i] = {devices_[i].channel->fd, POLLIN, 0};
  }
  poll(early_);
  if (!early_.empty() || ::poll(fds.data(), devices_.size(), 1) <= 0) return;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if ((fds[i].revents & POLLIN) == 0) continue;
    if (ibv_get_cq_event(devices_[i].channel, &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
  }
}

void VerbsTransport::poll(std::vector<Event>& events) {
  for (VerbsDevice& device : devices_) {
    std::array<ibv_wc, kPollBatch> wcs;  // filled by the call
    const int count = ibv_poll_cq(device.cq, kPollBatch, wcs.data());
    for (int i = 0; i < count; ++i) handle(wcs[static_cast<std::size_t>(i)], events);
  }
}

}  // namespace nerve::ai
