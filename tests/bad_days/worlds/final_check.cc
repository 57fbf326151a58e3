// The final checks of a world: every byte of the memory, including gaps, the shared counter, and
// that nothing completed at one side before it had happened at the other.
#include <algorithm>
#include <cstring>

#include "tests/bad_days/worlds/side.h"

namespace worlds {
namespace {

const char* name_of(Zone zone) {
  constexpr std::array kNames{"static", "open", "local", "receive"};
  return kNames[static_cast<std::size_t>(zone)];
}

std::uint64_t word_at(View memory, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, &memory[at], sizeof word);
  return word;
}

bool sets(const Request& request, std::size_t at, std::byte value) {
  return request.remote && at >= request.remote->at &&
         at - request.remote->at < request.remote->after.size() &&
         request.remote->after[at - request.remote->at] == value;
}

// The offset in a message of the byte that the pieces place there.
std::optional<std::size_t> offset_of(const std::vector<Piece>& pieces, std::size_t at) {
  std::size_t before = 0;
  for (const Piece& piece : pieces) {
    if (at >= piece.at && at - piece.at < piece.length) return before + (at - piece.at);
    before += piece.length;
  }
  return std::nullopt;
}

}  // namespace

void Side::check_end(const Report& peer) {
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    const Qp& qp = qps_[i];
    if (!qp.plan->reliable() || qp.health == Health::kGone) continue;
    for (std::size_t k = qp.delivered; k < peer.qps[i].confirmed; ++k) {
      if (!(*qp.peer_requests)[k].consumes_receive) continue;
      wrong(qp, "request #" + std::to_string(k) + " of the peer completed but was not received");
    }
  }
  check_counter(peer);
  check_memory(peer);
}

void Side::check_counter(const Report& peer) {
  // Our additions to the peer's counter: no two requests found the same value, and none more than
  // the sum.
  const std::size_t theirs = world_.sides[1 - side_].counter_at;
  const std::uint64_t first = word_at(world_.memories[1 - side_].initial(), theirs);
  std::size_t posted = 0;
  for (const Qp& qp : qps_) {
    for (std::size_t k = 0; k < qp.posted; ++k) posted += (*qp.requests)[k].counts ? 1U : 0U;
  }
  std::ranges::sort(counts_);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const bool again = i > 0 && counts_[i] == counts_[i - 1];
    if (again || counts_[i] - first >= posted) {
      violation("a FETCH_ADD on the shared counter found " + std::to_string(counts_[i] - first) +
                (again ? " twice" : " though only " + std::to_string(posted) + " were posted"));
    }
  }
  // The peer's additions to ours.
  std::uint64_t certain = 0;
  std::uint64_t possible = 0;
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    for (std::size_t k = 0; k < peer.qps[i].posted; ++k) {
      if (!(*qps_[i].peer_requests)[k].counts) continue;
      ++possible;
      if (k < peer.qps[i].confirmed) ++certain;
    }
  }
  const std::size_t own = world_.sides[side_].counter_at;
  const std::uint64_t added =
      word_at(memory_, own) - word_at(world_.memories[side_].initial(), own);
  if (added < certain || added > possible) {
    violation("the shared counter went up by " + std::to_string(added) + ", not by " +
              std::to_string(certain) + " to " + std::to_string(possible));
  }
  std::copy_n(&memory_[own], sizeof added, &expected_[own]);
}

void Side::check_memory(const Report& peer) {
  const Request* any = nullptr;
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    if (!qps_[i].plan->reliable()) continue;
    for (std::size_t k = 0; k < peer.qps[i].confirmed; ++k) {
      const Request& request = (*qps_[i].peer_requests)[k];
      if (!request.remote || reused(request.remote->at)) continue;
      std::ranges::copy(request.remote->after,
                        expected_.begin() + static_cast<std::ptrdiff_t>(request.remote->at));
      any = &request;
    }
  }
  if (any != nullptr && plant_.now(Mistake::kStale)) {
    const std::size_t at = any->remote->at;
    std::copy_n(&world_.memories[side_].initial()[at], any->remote->after.size(), &memory_[at]);
  }
  if (plant_.now(Mistake::kByte)) memory_[prng_.below(memory_.size())] ^= std::byte{1};
  for (std::size_t at = 0; at < memory_.size(); ++at) {
    const auto from = memory_.begin() + static_cast<std::ptrdiff_t>(at);
    at += static_cast<std::size_t>(
        std::mismatch(from, memory_.end(), expected_.begin() + static_cast<std::ptrdiff_t>(at))
            .first -
        from);
    if (at == memory_.size() || explained(at, peer)) continue;
    violation(std::string{"wrong byte in the "} + name_of(Objects::zone_of(at)) + " zone at " +
              std::to_string(at));
  }
}

// A request that failed may have been executed in part: its bytes may be old or new.
bool Side::explained(std::size_t at, const Report& peer) const {
  if (reused(at)) return false;
  const std::byte value = memory_[at];
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    const Qp& qp = qps_[i];
    const std::size_t open = qp.plan->reliable() ? peer.qps[i].confirmed : 0;
    for (std::size_t k = open; k < peer.qps[i].posted; ++k) {
      if (sets((*qp.peer_requests)[k], at, value)) return true;
    }
    for (std::size_t k = qp.confirmed; k < qp.posted; ++k) {
      const Request& request = (*qp.requests)[k];
      if (!request.brings_back() || request.must_be != IBV_WC_SUCCESS) continue;
      const auto offset = offset_of(request.pieces, at);
      if (offset && (request.counts || request.message[*offset] == value)) return true;
    }
  }
  return explained_by_receive(at);
}

// A receive that did not complete may contain a part of a message, if its QP ended or loses
// messages.
bool Side::explained_by_receive(std::size_t at) const {
  for (const Queue& queue : queues_) {
    for (std::size_t i = 0; i < queue.posted; ++i) {
      if (queue.done[i]) continue;
      const auto offset = offset_of(queue.plan->receives[i].pieces, at);
      if (!offset) continue;
      for (const Qp& qp : qps_) {
        if (qp.receives != &queue || (qp.plan->blow == Blow::kNone && !lossy(qp))) continue;
        if (lossy(qp)) return true;
        for (std::size_t k = qp.delivered; k < qp.peer_requests->size(); ++k) {
          const Request& request = (*qp.peer_requests)[k];
          if (request.consumes_receive && *offset < request.message.size() &&
              request.message[*offset] == memory_[at]) {
            return true;
          }
        }
      }
    }
  }
  return false;
}

}  // namespace worlds
