// How Side handles completions.
#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/bad_days/worlds/side.h"

namespace worlds {
namespace {

constexpr std::size_t kGrh = 40;

ibv_wc_opcode completion_of(Op op) {
  constexpr std::array kOpcodes{
      IBV_WC_SEND,      IBV_WC_SEND,      IBV_WC_SEND,      IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE,
      IBV_WC_RDMA_READ, IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD, IBV_WC_BIND_MW,    IBV_WC_LOCAL_INV};
  return kOpcodes[static_cast<std::size_t>(op)];
}

// Calls visit(place in memory, place in the message, length) for each piece that is filled.
template <typename Visit>
void each_part(const std::vector<Piece>& pieces, std::size_t skip, std::size_t length,
               Visit visit) {
  std::size_t done = 0;
  for (const Piece& piece : pieces) {
    const std::size_t skipped = std::min(skip, piece.length);
    skip -= skipped;
    const std::size_t part = std::min(piece.length - skipped, length - done);
    if (part > 0) visit(piece.at + skipped, done, part);
    done += part;
  }
}

}  // namespace

bool Side::poll_all() {
  bool any = false;
  std::vector<ibv_wc> found(static_cast<std::size_t>(world_.sides[side_].poll_batch));
  for (std::size_t cq = 0; cq < objects_.cqs().size(); ++cq) {
    if (world_.sides[side_].resizes_cqs && prng_.chance(5)) {
      objects_.resize_cq(cq, prng_.below(32));
    }
    const std::size_t count = objects_.poll(cq, found);
    for (std::size_t i = 0; i < count; ++i) {
      const ibv_wc& wc = found[i];
      if (plant_.now(Mistake::kLost)) continue;
      if (plant_.now(Mistake::kTwice)) completed(wc);
      if (i + 1 < count && plant_.now(Mistake::kOrder)) {
        std::swap(found[i], found[i + 1]);
      }
      completed(wc);
    }
    any |= count > 0;
  }
  return any;
}

void Side::completed(const ibv_wc& wc) {
  ++completions_;
  if (tracing()) {
    trace(std::string{(wc.wr_id & kReceiveBit) != 0 ? "sees receive " : "sees "} +
          std::to_string(wc.wr_id >> 32U & 0xff) + " #" + std::to_string(wc.wr_id & 0xffff'ffff) +
          " " + ibv_wc_status_str(wc.status) + " bytes " + std::to_string(wc.byte_len));
  }
  // A blow to a QP was announced before it was made.
  if (wc.status != IBV_WC_SUCCESS && !draining_) (void)hear();
  if ((wc.wr_id & kReceiveBit) != 0) return receive_completed(wc);
  const std::size_t index = wc.wr_id >> 32U;
  if (index >= qps_.size()) violation("a completion of nothing: " + std::to_string(wc.wr_id));
  send_completed(index, wc);
}

void Side::send_completed(std::size_t index, const ibv_wc& wc) {
  Qp& qp = qps_[index];
  const std::size_t at = wc.wr_id & 0xffff'ffff;
  if (qp.health == Health::kGone) wrong(qp, "a completion after reset or destroy");
  if (at >= qp.posted || at < qp.completed) {
    wrong(qp,
          "request #" + std::to_string(at) + " completed twice, out of order, or was never posted");
  }
  if (wc.qp_num != qp.number) wrong(qp, "a completion with the wrong QP number");
  for (; qp.completed < at; ++qp.completed) {
    const Request& silent = (*qp.requests)[qp.completed];
    if (silent.signaled || qp.send_error) {
      wrong(qp, "no completion of request #" + std::to_string(qp.completed) + " (" +
                    name_of(silent.op) + ")");
    }
    confirm(qp, qp.completed);
  }
  ++qp.completed;
  if (wc.status != IBV_WC_SUCCESS) {
    check_failure(qp, at, wc.status);
    qp.send_error = true;
    return;
  }
  check_send(qp, at, wc);
  confirm(qp, at);
}

void Side::check_send(Qp& qp, std::size_t at, const ibv_wc& wc) {
  const Request& request = (*qp.requests)[at];
  const std::string what = std::string{name_of(request.op)} + " #" + std::to_string(at);
  if (qp.send_error) wrong(qp, what + " succeeded after an error");
  if (!request.signaled) wrong(qp, what + " is unsignaled and completed");
  if (request.must_be != IBV_WC_SUCCESS) {
    wrong(qp, what + " succeeded, but must end with " + ibv_wc_status_str(request.must_be));
  }
  if (wc.opcode != completion_of(request.op)) wrong(qp, what + ": wrong opcode of completion");
  if (request.brings_back() && wc.byte_len != request.message.size()) {
    wrong(qp, what + " reports " + std::to_string(wc.byte_len) + " bytes instead of " +
                  std::to_string(request.message.size()));
  }
}

void Side::check_failure(Qp& qp, std::size_t at, ibv_wc_status status) {
  const Request& request = (*qp.requests)[at];
  const std::string what = std::string{name_of(request.op)} + " #" + std::to_string(at) +
                           " ended with " + ibv_wc_status_str(status);
  const bool first = !qp.send_error;
  if (draining_ && status == IBV_WC_WR_FLUSH_ERR && qp.plan->blow != Blow::kNone) return;
  if (qp.health == Health::kGood) wrong(qp, what);
  if (!first) {
    if (status != IBV_WC_WR_FLUSH_ERR) wrong(qp, what + " after an error");
    return;
  }
  if (qp.struck_here && qp.plan->blow == Blow::kBadRequest) {
    // The answer to it may be lost, and a QP that has refused a request does not answer again.
    const bool answer_lost = status == IBV_WC_RETRY_EXC_ERR && at <= qp.plan->blow_at &&
                             (world_.settings.loses || world_.settings.repeats);
    if (!answer_lost && (at != qp.plan->blow_at || status != request.must_be)) {
      wrong(qp, what + ", and request #" + std::to_string(qp.plan->blow_at) + " must end with " +
                    ibv_wc_status_str((*qp.requests)[qp.plan->blow_at].must_be));
    }
    qp.may_post = false;
    const auto number = static_cast<std::uint32_t>(&qp - qps_.data());
    control_.send({.word = Word::kStruck, .qp = number});
    return;
  }
  const bool timed_out = status == IBV_WC_RETRY_EXC_ERR && !qp.struck_here;
  const bool too_late = status == IBV_WC_REM_ACCESS_ERR && !qp.struck_here &&
                        qp.plan->blow == Blow::kDeregister && request.target.region;
  if (status != IBV_WC_WR_FLUSH_ERR && !timed_out && !too_late) wrong(qp, what);
}

// Records that the request was executed.
void Side::confirm(Qp& qp, std::size_t at) {
  const Request& request = (*qp.requests)[at];
  qp.confirmed = at + 1;
  if (request.counts) {
    std::uint64_t found = 0;
    const std::size_t place = request.pieces.front().at;
    std::memcpy(&found, &memory_[place], sizeof found);
    if (found < qp.last_count) wrong(qp, "a shared counter went backwards");
    qp.last_count = found;
    counts_.push_back(found);
    std::memcpy(&expected_[place], &found, sizeof found);
  } else if (request.brings_back()) {
    each_part(request.pieces, 0, request.message.size(),
              [&](std::size_t place, std::size_t from, std::size_t length) {
                if (std::memcmp(&memory_[place], &request.message[from], length) != 0) {
                  wrong(qp, std::string{name_of(request.op)} + " #" + std::to_string(at) +
                                " brought wrong bytes");
                }
                std::memcpy(&expected_[place], &request.message[from], length);
              });
  }
  if (!request.reuses_source) return;
  for (const Piece& piece : request.pieces) {
    for (std::size_t i = piece.at; i < piece.at + piece.length; ++i) {
      expected_[i] = memory_[i] = ~memory_[i];
    }
  }
}

void Side::receive_completed(const ibv_wc& wc) {
  const std::size_t number = wc.wr_id & 0xffff'ffff;
  const std::size_t id = (wc.wr_id & ~kReceiveBit) >> 32U;
  if (id >= qps_.size() && id != kSharedQueue) violation("a receive of nothing completed");
  Queue& queue = id == kSharedQueue ? queues_.back() : queues_[id];
  Qp* const qp = qp_by_number(wc.qp_num);
  if (qp == nullptr || qp->receives != &queue) {
    violation("a receive completed with the wrong QP number");
  }
  if (qp->health == Health::kGone) wrong(*qp, "a receive completed after reset or destroy");
  const bool in_turn = id == kSharedQueue ? !qp->any_receive || number > qp->last_receive
                                          : number == queue.completed;
  if (number >= queue.posted || queue.done[number] || !in_turn) {
    wrong(*qp, "receive #" + std::to_string(number) +
                   " completed twice, out of order, or was never posted");
  }
  qp->any_receive = true;
  qp->last_receive = number;
  ++queue.completed;
  const auto index = static_cast<std::size_t>(qp - qps_.data());
  if (wc.status != IBV_WC_SUCCESS) return receive_failed(index, wc);
  if (qp->flushed_receive) wrong(*qp, "a receive succeeded after a flush");
  queue.done[number] = true;
  ++qp->received;
  message_received(index, number, wc);
}

void Side::receive_failed(std::size_t index, const ibv_wc& wc) {
  Qp& qp = qps_[index];
  const std::string what = std::string{"a receive ended with "} + ibv_wc_status_str(wc.status);
  if (wc.status == IBV_WC_WR_FLUSH_ERR) {
    if (!draining_ && qp.health == Health::kGood) wrong(qp, what);
    qp.flushed_receive = true;
    return;
  }
  const auto& requests = *qp.peer_requests;
  const bool too_long = qp.plan->blow == Blow::kBadRequest && qp.plan->blow_side != side_ &&
                        requests[qp.plan->blow_at].op == Op::kSend &&
                        wc.status == IBV_WC_LOC_LEN_ERR && qp.delivered <= qp.plan->blow_at;
  const bool no_access = wc.status == IBV_WC_LOC_ACCESS_ERR && may_lack_access(qp);
  if (!too_long && !no_access) wrong(qp, what);
  qp.flushed_receive = true;
}

// True if a WRITE with immediate may be arriving whose key does not give access, or no longer does.
// Its receive ends with an error of its own.
bool Side::may_lack_access(const Qp& qp) const {
  const bool deregistered = qp.plan->blow == Blow::kDeregister && qp.plan->blow_side == side_;
  const auto first = qp.peer_requests->begin() + static_cast<std::ptrdiff_t>(qp.delivered);
  return std::any_of(first, qp.peer_requests->end(), [&](const Request& request) {
    return request.op == Op::kWriteImm &&
           (request.must_be == IBV_WC_REM_ACCESS_ERR || (deregistered && request.target.region));
  });
}

void Side::message_received(std::size_t index, std::size_t number, const ibv_wc& wc) {
  Qp& qp = qps_[index];
  const Receive& receive = qp.receives->plan->receives[number];
  const auto& requests = *qp.peer_requests;
  // Some unreliable messages are lost, and a network that duplicates delivers them in any order. So
  // do sockets: packets that one thread sends from two CPUs may overtake each other.
  const bool repeats = lossy(qp) && world_.settings.repeats;
  const bool any_order = repeats || (lossy(qp) && world_.settings.udp);
  std::string why = "nothing more was to come";
  for (std::size_t i = any_order ? 0 : qp.delivered; i < requests.size(); ++i) {
    const Request& request = requests[i];
    if (!request.consumes_receive || (qp.matched[i] && !repeats)) continue;
    why = mismatch(qp, request, receive, wc);
    if (!why.empty() && lossy(qp)) continue;
    if (!why.empty() || request.must_be != IBV_WC_SUCCESS) {
      wrong(qp, std::string{name_of(request.op)} + " #" + std::to_string(i) +
                    " of the peer was received with " + (why.empty() ? "success" : why));
    }
    const std::size_t before = qp.delivered;
    qp.delivered = i + 1;
    qp.matched[i] = true;
    accept(qp, request, receive, wc);
    if (qp.plan->reliable()) check_targets(qp, before, i + 1);
    return;
  }
  wrong(qp, "a message was received that was not sent: " + why);
}

std::string Side::mismatch(const Qp& qp, const Request& request, const Receive& receive,
                           const ibv_wc& wc) const {
  const bool datagram = qp.plan->type == IBV_QPT_UD;
  const std::size_t skip = datagram ? kGrh : 0;
  const bool write = request.op == Op::kWriteImm;
  if (wc.opcode != (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV)) return "a wrong opcode";
  if (wc.byte_len != request.message.size() + skip) {
    return "length " + std::to_string(wc.byte_len) + " instead of " +
           std::to_string(request.message.size() + skip);
  }
  const bool immediate = write || request.op == Op::kSendImm;
  const bool invalidates = request.op == Op::kSendInvalidate;
  if (((wc.wc_flags & IBV_WC_WITH_IMM) != 0) != immediate) return "a wrong flag of immediate data";
  if (((wc.wc_flags & IBV_WC_WITH_INV) != 0) != invalidates) return "a wrong flag of invalidation";
  if (immediate && wc.imm_data != htobe32(request.immediate)) return "wrong immediate data";
  if (invalidates && wc.invalidated_rkey != objects_.card().windows[*request.target.window]) {
    return "a wrong invalidated key";
  }
  if (datagram && wc.src_qp != qp.peer_number) return "a wrong source QP";
  if (datagram && (wc.wc_flags & IBV_WC_GRH) == 0) return "no GRH";
  if (write) return {};
  std::string why;
  each_part(receive.pieces, skip, request.message.size(),
            [&](std::size_t place, std::size_t from, std::size_t length) {
              if (std::memcmp(&memory_[place], &request.message[from], length) == 0) return;
              why = "wrong bytes";
            });
  return why;
}

void Side::accept(const Qp& qp, const Request& request, const Receive& receive, const ibv_wc& wc) {
  if (lossy(qp)) {
    // A message that was cut short left its bytes in the receive that the next one used.
    for (const Piece& piece : receive.pieces) {
      std::copy_n(&memory_[piece.at], piece.length, &expected_[piece.at]);
    }
    return;
  }
  if (request.op == Op::kWriteImm) return;
  const auto take = [&](std::size_t place, std::size_t, std::size_t length) {
    std::copy_n(&memory_[place], length, &expected_[place]);
  };
  // The contents are right, except for the GRH, which the plan does not know.
  each_part(receive.pieces, 0, wc.byte_len, take);
}

// Checks that everything the peer sent before a message has arrived with it, unless a later request
// of that QP has overwritten it.
void Side::check_targets(const Qp& qp, std::size_t from, std::size_t to) {
  const auto& requests = *qp.peer_requests;
  for (std::size_t i = from; i < to; ++i) {
    if (!requests[i].remote || reused(requests[i].remote->at)) continue;
    const Patch& patch = *requests[i].remote;
    for (std::size_t k = 0; k < patch.after.size(); ++k) {
      const std::size_t at = patch.at + k;
      if (memory_[at] == patch.after[k]) continue;
      const bool replaced = std::any_of(
          requests.begin() + static_cast<std::ptrdiff_t>(i), requests.end(), [&](const Request& r) {
            return r.remote && at >= r.remote->at && at - r.remote->at < r.remote->after.size() &&
                   r.remote->after[at - r.remote->at] == memory_[at];
          });
      if (replaced) continue;
      wrong(qp, "a message came before byte " + std::to_string(k) + " of " +
                    name_of(requests[i].op) + " #" + std::to_string(i) + " of the peer");
    }
  }
}

}  // namespace worlds
