#include "ai/engine.h"

#include <algorithm>
#include <thread>

namespace nerve::ai {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kStepsPerLook = 16;  // before the clock is read
constexpr std::uint32_t kStepsBeforeRest = 4;
constexpr milliseconds kLookEvery{1};       // at the control connections
constexpr milliseconds kQuestionEvery{20};  // whether the caller wants to stop
// How long a broken connection waits for the control connections to show which rank died.
constexpr milliseconds kInquest{300};

std::string rank_text(int rank) {
  return rank == Engine::kAnyRank ? "a peer" : "rank " + std::to_string(rank);
}

}  // namespace

void Engine::fail(Error error) {
  if (failure_) return;
  if (error.rank != Error::kNoRank) {
    if (error.kind == Error::Kind::kPeerDied) mesh_.report_death(error.rank);
    if (error.kind == Error::Kind::kTimeout) mesh_.report_silence(error.rank);
  }
  failure_ = std::move(error);
}

Status Engine::wait_for_room(const Request& request) {
  return wait(request.peer, [&] { return transport_->has_room(request.peer, request.lane); });
}

Status Engine::put(Request request, std::optional<Counter> counter) {
  if (Status room = wait_for_room(request); !room) return room;
  if (transport_->failed(request.peer, request.lane)) return drop(counter);
  if (counter) {
    ++counts_[counter->index].outstanding;
    request.id = counter->index + 1;
  }
  Status posted = transport_->put(request);
  if (!posted) fail(posted.error());
  // A transport may hold a notification back for a moment; it leaves before this call returns.
  return posted ? wait_for_room(request) : posted;
}

Status Engine::get(Request request, Counter counter) {
  if (Status room = wait_for_room(request); !room) return room;
  if (transport_->failed(request.peer, request.lane)) return drop(counter);
  ++counts_[counter.index].outstanding;
  request.id = counter.index + 1;
  Status posted = transport_->get(request);
  if (!posted) fail(posted.error());
  return posted;
}

// The peer has left, else the failure would have ended the wait before.
Status Engine::drop(std::optional<Counter> counter) {
  if (counter) counts_[counter->index].abandoned = true;
  return Done{};
}

Status Engine::notify(int peer, int lane, std::uint32_t immediate) {
  return put({.peer = peer, .lane = lane, .immediate = immediate}, std::nullopt);
}

Counter Engine::start_counting() {
  if (free_counts_.empty()) {
    free_counts_.push_back(static_cast<std::uint32_t>(counts_.size()));
    counts_.emplace_back();
  }
  const std::uint32_t index = free_counts_.back();
  free_counts_.pop_back();
  Count& count = counts_[index];
  count.used = true;
  count.abandoned = false;
  return {index, ++count.generation};
}

// A counter with requests in flight is reused when the last of them completes.
void Engine::stop_counting(Counter counter) {
  if (!valid(counter)) return;
  Count& count = counts_[counter.index];
  count.used = false;
  if (count.outstanding == 0) free_counts_.push_back(counter.index);
}

bool Engine::valid(Counter counter) const {
  return counter.index < counts_.size() && counts_[counter.index].used &&
         counts_[counter.index].generation == counter.generation;
}

std::uint32_t Engine::outstanding(Counter counter) const {
  return counts_[counter.index].outstanding;
}

bool Engine::step() {
  events_.clear();
  transport_->progress(events_);
  for (std::size_t i = 0; i < events_.size(); ++i) handle(events_[i]);
  return !events_.empty();
}

void Engine::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kCompleted:
    case Event::Kind::kAbandoned: {
      const auto index = static_cast<std::uint32_t>(event.id - 1);
      Count& count = counts_[index];
      count.abandoned |= event.kind == Event::Kind::kAbandoned;
      if (--count.outstanding == 0 && !count.used) free_counts_.push_back(index);
      return;
    }
    case Event::Kind::kFailed:
      handle_failure(event);
      return;
    case Event::Kind::kNotified:
      break;
  }
  const auto notice = static_cast<Notice>(event.immediate >> kNoticeBits);
  const std::uint32_t value = event.immediate & ((1U << kNoticeBits) - 1);
  if (notice != Notice::kUser) {
    listener_(notice, event.peer, event.lane, value);
    return;
  }
  const std::size_t lanes = (value >> kTagBits) + 1;
  if (lanes > static_cast<std::size_t>(transport_->lanes())) return;
  Arrivals& arrivals = users_[static_cast<std::size_t>(event.peer)].arrivals[value];
  arrivals.resize(lanes);
  if (static_cast<std::size_t>(event.lane) < lanes)
    ++arrivals[static_cast<std::size_t>(event.lane)];
}

void Engine::handle_failure(const Event& event) {
  if (event.local) {
    return fail({Error::Kind::kSystem,
                 "a request to " + rank_text(event.peer) + " failed in this rank (" + event.text +
                     "); memory must stay allocated until the call or the transfer has ended"});
  }
  const Clock::time_point end = Clock::now() + kInquest;
  for (;;) {
    if (const auto& death = mesh_.check()) return fail(*death);
    if (mesh_.left(event.peer)) return;  // its last acknowledgements were lost, no data
    if (event.refused || Clock::now() >= end) break;
    std::this_thread::sleep_for(milliseconds{1});
  }
  if (event.refused) {
    return fail({Error::Kind::kProtocol,
                 rank_text(event.peer) + " refused a request (" + event.text +
                     "); it must register the memory, with this range, before it is accessed",
                 event.peer});
  }
  fail({Error::Kind::kPeerDied, rank_text(event.peer) + " does not answer: " + event.text,
        event.peer});
}

Status Engine::look_around(Idle& idle, int peer) {
  ++idle.empty;
  if (idle.empty >= kStepsBeforeRest) transport_->rest();
  if (idle.empty % kStepsPerLook != 0) return Done{};
  const Clock::time_point now = Clock::now();
  if (!idle.since) idle.since = idle.last_look = idle.last_question = now;
  if (now - idle.last_look < kLookEvery) return Done{};
  idle.last_look = now;
  if (idle.gone) {  // what it sent before it left would have arrived by now
    return failure(Error::Kind::kPeerDied,
                   rank_text(peer) + " left the group while this rank waited for it", peer);
  }
  if (const auto& death = mesh_.check()) {
    fail(*death);
    return Unexpected{*failure_};
  }
  idle.gone = peer != kAnyRank && mesh_.left(peer);
  if (now - idle.last_question >= kQuestionEvery) {
    idle.last_question = now;
    if (interrupted_ && interrupted_()) {
      return failure(Error::Kind::kInterrupted, "interrupted while waiting for " + rank_text(peer),
                     peer);
    }
  }
  if (!idle.asked && now - *idle.since > timeout_ / 2) {
    idle.asked = true;
    mesh_.ask_all();
  }
  return now - *idle.since > timeout_ ? timed_out(peer) : Done{};
}

// The rank that this one waits for may itself wait for another: the error is about the one that
// does not answer.
Status Engine::timed_out(int peer) const {
  const std::vector<int> silent = mesh_.silent_peers();
  const std::string within = " did not answer within " + std::to_string(timeout_.count()) + " ms";
  if (silent.empty()) {
    return failure(Error::Kind::kTimeout,
                   rank_text(peer) + within +
                       "; is it in the same call? A larger timeout waits "
                       "longer",
                   peer);
  }
  const int named = std::ranges::find(silent, peer) != silent.end() ? peer : silent.front();
  return failure(Error::Kind::kTimeout,
                 rank_text(named) + within +
                     "; it is stopped, or in no call of the group. A larger timeout waits longer",
                 named);
}

Status Engine::wait_notice(int peer, std::uint32_t tag) {
  auto& arrivals = users_[static_cast<std::size_t>(peer)].arrivals;
  const auto lanes = static_cast<std::uint32_t>(transport_->lanes());
  std::uint32_t found = 0;
  const auto complete = [&] {
    for (std::uint32_t used = 0; used < lanes; ++used) {
      const auto entry = arrivals.find(used << kTagBits | tag);
      if (entry == arrivals.end()) continue;
      if (std::ranges::all_of(entry->second, [](std::uint32_t count) { return count > 0; })) {
        found = used << kTagBits | tag;
        return true;
      }
    }
    return false;
  };
  if (Status arrived = wait(peer, complete); !arrived) return arrived;
  Arrivals& taken = arrivals[found];
  for (std::uint32_t& count : taken) --count;
  if (std::ranges::all_of(taken, [](std::uint32_t count) { return count == 0; })) {
    arrivals.erase(found);
  }
  return Done{};
}

}  // namespace nerve::ai
