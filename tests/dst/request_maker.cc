#include "tests/dst/request_maker.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nerve::dst {

using nic::QpType;
using nic::SendFlags;
using nic::SendOp;
using nic::WcStatus;

RequestMaker::RequestMaker(QpModel& self, QpModel& peer, std::vector<ReceiveSource> peer_sources,
                           SharedCounter* counter, const Terms& terms, EventQueue& events,
                           Journal& journal, std::uint64_t seed)
    : self_{self},
      peer_{peer},
      own_{self.host().memory()},
      theirs_{peer.host().memory()},
      peer_sources_{std::move(peer_sources)},
      counter_{counter},
      terms_{terms},
      events_{events},
      journal_{journal},
      prng_{seed} {
  const std::size_t length = prng_.between(1, std::size_t{bytes(terms_.mtu)} * 3);
  if (const auto at = theirs_.take(MemoryModel::kOpen, length, 1, prng_)) hot_ = {*at, length};
  word_ = theirs_.take(MemoryModel::kOpen, 8, 8, prng_);
  if (self_.type() == QpType::kRc && (terms_.regions_vanish || prng_.chance(500))) {
    register_region();
  }
  if (terms_.regions_vanish) register_desk();
  self_.on_confirmed([this](const Request& request) { on_confirmed(request); });
}

std::vector<SendOp> RequestMaker::possible_operations() const {
  std::vector<SendOp> ops{SendOp::kSend, SendOp::kSendImm, SendOp::kWrite, SendOp::kWriteImm,
                          SendOp::kWrite};
  if (self_.type() == QpType::kUc) return ops;
  ops.insert(ops.end(), {SendOp::kRead, SendOp::kRead, SendOp::kCompareSwap, SendOp::kFetchAdd});
  if (self_.type() == QpType::kRc) {
    ops.insert(ops.end(), {SendOp::kAtomicWrite, SendOp::kFlush, SendOp::kBindMw,
                           SendOp::kLocalInvalidate, SendOp::kSendInvalidate});
  }
  return ops;
}

void RequestMaker::post_one(bool last) {
  Draft draft;
  if (peer_maker_ != nullptr && prng_.chance(50)) reregister_region(false);
  const bool reliable = self_.type() != QpType::kUc;
  const std::vector<SendOp> ops = possible_operations();
  draft.wr.op = ops[prng_.below(ops.size())];
  if (terms_.send_per_mille > 0 && prng_.chance(terms_.send_per_mille)) draft.wr.op = SendOp::kSend;
  // The request in the last free slot must be signalled; otherwise it is never known when slots
  // become free.
  const bool must_tell = last || self_.outstanding() + 1 >= terms_.caps.max_send_wr;
  draft.request.signaled =
      terms_.signal_all || must_tell || prng_.chance(terms_.signaled_per_mille);
  Draft bad = draft;
  if (prng_.chance(terms_.bad_request_per_mille) && spoil(bad)) {
    draft = std::move(bad);
  } else if (!fill(draft)) {
    return;
  }
  if (draft.request.signaled && (!terms_.signal_all || prng_.chance(500))) {
    draft.wr.flags |= SendFlags::kSignaled;
  }
  if (reliable && prng_.chance(50)) draft.wr.flags |= SendFlags::kFence;
  if (draft.request.takes_from != nullptr && prng_.chance(300)) {
    draft.wr.flags |= SendFlags::kSolicited;
    draft.request.solicited = true;
  }
  submit(draft);
}

bool RequestMaker::fill(Draft& draft) {
  switch (draft.wr.op) {
    case SendOp::kSend:
    case SendOp::kSendImm:
    case SendOp::kSendInvalidate:
      return fill_send(draft);
    case SendOp::kWrite:
    case SendOp::kWriteImm:
      return fill_write(draft);
    case SendOp::kRead:
      return fill_read(draft);
    case SendOp::kFetchAdd:
      if (counter_ != nullptr && prng_.chance(500)) return fill_shared_counter(draft);
      return fill_atomic(draft);
    case SendOp::kCompareSwap:
      return fill_atomic(draft);
    case SendOp::kAtomicWrite:
      return fill_atomic_write(draft);
    case SendOp::kFlush:
      return fill_flush(draft);
    case SendOp::kLocalInvalidate:
      return fill_local_invalidate(draft);
    case SendOp::kBindMw:
      return fill_bind(draft);
  }
  return false;
}

void RequestMaker::submit(Draft& draft) {
  Request& request = draft.request;
  request.op = draft.wr.op;
  request.wr_id = draft.wr.wr_id = self_.next_wr_id();
  request.immediate = draft.wr.immediate;
  draft.wr.sges = draft.sges;
  // An XRC request always names an SRQ, whether it takes a receive or not.
  if (draft.request.takes_from == nullptr && !peer_sources_.empty()) {
    draft.wr.remote_srq = draw_source().number;
  }
  const SendOp op = draft.wr.op;
  if (const auto status = self_.host().nic().post_send(self_.handle(), draft.wr); !status) {
    journal_.violation(events_.now(), std::string{"post_send of "} + name_of(op) +
                                          " refused: " + status.error().reason);
    return;
  }
  // Inline bytes were copied by post_send; the caller may reuse its memory.
  std::ranges::fill(draft.inline_bytes, std::byte{0xee});
  self_.posted(std::move(draft.request));
}

const ReceiveSource& RequestMaker::draw_source() {
  return peer_sources_[peer_sources_.size() == 1 ? 0 : prng_.below(peer_sources_.size())];
}

bool RequestMaker::promise_receive(Draft& draft) {
  if (peer_sources_.empty()) return false;
  const ReceiveSource& source = draw_source();
  if (!source.feeder->promise()) return false;
  draft.request.takes_from = source.model;
  draft.wr.remote_srq = source.number;
  return true;
}

bool RequestMaker::fill_send(Draft& draft) {
  Window* invalidated = nullptr;
  if (draft.wr.op == SendOp::kSendInvalidate) {
    const auto index =
        peer_maker_ != nullptr ? peer_maker_->draw_window(Window::State::kBound) : std::nullopt;
    if (!index || !peer_maker_->windows_[*index].can_be_invalidated()) {
      draft.wr.op = SendOp::kSend;
    } else {
      invalidated = &peer_maker_->windows_[*index];
      draft.wr.rkey = draft.request.invalidate = invalidated->rkey;
      // READs through the window must complete before it is invalidated.
      draft.wr.flags |= SendFlags::kFence;
    }
  }
  if (!promise_receive(draft)) return false;
  draft.wr.immediate = static_cast<std::uint32_t>(prng_.next());
  const bool passes_on = prng_.chance(150) && gather_result_of_read(draft, terms_.receive_capacity);
  if (!passes_on && !gather(draft, draw_length(terms_.receive_capacity))) return false;
  if (invalidated != nullptr) invalidated->state = Window::State::kDead;
  return true;
}

bool RequestMaker::fill_write(Draft& draft) {
  if (draft.wr.op == SendOp::kWriteImm) {
    if (!promise_receive(draft)) return false;
    draft.wr.immediate = static_cast<std::uint32_t>(prng_.next());
  }
  const std::size_t length = draw_length(terms_.largest_message);
  return gather(draft, length) && choose_target(draft, length);
}

bool RequestMaker::choose_target(Draft& draft, std::size_t length) {
  draft.wr.rkey = peer_.host().keys(MemoryModel::kOpen).rkey;
  std::optional<std::size_t> at;
  if (hot_ && prng_.chance(350)) {
    // Overwrite earlier data, so that a stale duplicate that is executed again is detected.
    const std::size_t fits = std::min(length, hot_->length);
    if (fits == length) at = hot_->offset + prng_.below(hot_->length - length + 1);
  } else if (peer_maker_ != nullptr && prng_.chance(terms_.regions_vanish ? 700 : 300)) {
    const auto index = peer_maker_->draw_window(Window::State::kBound);
    if (index && peer_maker_->windows_[*index].range.length >= length) {
      const Window& window = peer_maker_->windows_[*index];
      at = window.range.offset + prng_.below(window.range.length - length + 1);
      draft.wr.rkey = window.rkey;
      draft.request.window = index;
    }
  }
  if (!at) at = theirs_.take(MemoryModel::kOpen, length, 1, prng_);
  if (!at) return false;
  draft.wr.remote_address = MemoryModel::iova(*at);
  if (waits_for_read(*at, length)) draft.wr.flags |= SendFlags::kFence;
  patch_remote(draft, *at, draft.request.message);
  return true;
}

void RequestMaker::patch_remote(Draft& draft, std::size_t offset, Bytes after) {
  if (after.empty()) return;
  const Bytes before = theirs_.expected(offset, after.size());
  draft.request.remote.push_back({.memory = &theirs_,
                                  .offset = offset,
                                  .length = after.size(),
                                  .before = {before.begin(), before.end()},
                                  .after = {after.begin(), after.end()}});
}

// An outstanding READ may be executed again after a loss, so its source must not change before it
// completes.
bool RequestMaker::waits_for_read(std::size_t offset, std::size_t length) const {
  const auto& all = self_.requests();
  const auto first = all.end() - static_cast<std::ptrdiff_t>(self_.outstanding());
  return std::any_of(first, all.end(), [&](const Request& r) {
    return r.op == SendOp::kRead && r.reads_from.length > 0 &&
           offset < r.reads_from.offset + r.reads_from.length &&
           r.reads_from.offset < offset + length;
  });
}

bool RequestMaker::fill_read(Draft& draft) {
  if (terms_.window_atomics && prng_.chance(400)) {
    if (const auto index = draw_readable()) return fill_read_through(draft, *index);
  }
  std::size_t length = draw_length(terms_.largest_message);
  const bool hot = hot_ && prng_.chance(400);
  const std::size_t room = hot ? hot_->length : theirs_.zone_size();
  length = std::min(length, room);
  const std::size_t start = hot ? hot_->offset : theirs_.zone_start(MemoryModel::kStatic);
  const std::size_t at = start + prng_.below(room - length + 1);
  const auto zone = hot ? MemoryModel::kOpen : MemoryModel::kStatic;
  draft.wr.rkey = peer_.host().keys(zone).rkey;
  draft.wr.remote_address = MemoryModel::iova(at);
  const Bytes found = theirs_.expected(at, length);
  draft.request.message.assign(found.begin(), found.end());
  draft.request.reads_from = {at, length};
  return scatter(draft);
}

bool RequestMaker::fill_atomic(Draft& draft) {
  if (!word_) return false;
  std::size_t word = *word_;
  draft.wr.rkey = peer_.host().keys(MemoryModel::kOpen).rkey;
  if (terms_.window_atomics && prng_.chance(700)) {
    if (const auto other = draw_word(/*open=*/true)) {
      word = other->offset;
      draft.wr.rkey = peer_maker_->windows_[other->window].rkey;
      draft.request.window = other->window;
      if (waits_for_read(word, 8)) draft.wr.flags |= SendFlags::kFence;
    }
  }
  std::uint64_t before = 0;
  std::memcpy(&before, theirs_.expected(word, 8).data(), 8);
  std::uint64_t after = before;
  if (draft.wr.op == SendOp::kCompareSwap) {
    draft.wr.compare_or_add = prng_.chance(700) ? before : prng_.next();
    draft.wr.swap = prng_.next();
    if (draft.wr.compare_or_add == before) after = draft.wr.swap;
  } else {
    draft.wr.compare_or_add = prng_.next();
    after = before + draft.wr.compare_or_add;
  }
  draft.wr.remote_address = MemoryModel::iova(word);
  const auto* bytes_of_before = reinterpret_cast<const std::byte*>(&before);
  draft.request.message.assign(bytes_of_before, bytes_of_before + 8);
  patch_remote(draft, word, std::as_bytes(std::span{&after, 1}));
  return scatter(draft);
}

bool RequestMaker::fill_shared_counter(Draft& draft) {
  if (counter_->memory != &theirs_) return fill_atomic(draft);
  draft.wr.compare_or_add = 1;
  draft.wr.remote_address = MemoryModel::iova(counter_->offset);
  draft.wr.rkey = peer_.host().keys(MemoryModel::kOpen).rkey;
  draft.request.counter = counter_;
  // The result is not known yet; the model fills it in on completion.
  const auto at = own_.take(MemoryModel::kLocal, 8, 1, prng_);
  if (!at) return false;
  draft.request.message.resize(8);
  draft.request.local.push_back({.memory = &own_, .offset = *at, .length = 8});
  draft.sges.push_back({.address = MemoryModel::iova(*at),
                        .length = 8,
                        .lkey = self_.host().keys(MemoryModel::kLocal).lkey});
  return true;
}

bool RequestMaker::fill_atomic_write(Draft& draft) {
  auto at = theirs_.take(MemoryModel::kOpen, 8, 8, prng_);
  draft.wr.rkey = peer_.host().keys(MemoryModel::kOpen).rkey;
  if (terms_.window_atomics && prng_.chance(500)) {
    if (const auto other = draw_word(/*open=*/true)) {
      at = other->offset;
      draft.wr.rkey = peer_maker_->windows_[other->window].rkey;
      draft.request.window = other->window;
      if (waits_for_read(*at, 8)) draft.wr.flags |= SendFlags::kFence;
    }
  }
  if (!at || !gather(draft, 8)) return false;
  draft.wr.remote_address = MemoryModel::iova(*at);
  patch_remote(draft, *at, draft.request.message);
  return true;
}

bool RequestMaker::fill_flush(Draft& draft) {
  const std::size_t start = theirs_.zone_start(MemoryModel::kOpen);
  const std::size_t length = prng_.between(1, theirs_.zone_size());
  draft.wr.remote_address =
      MemoryModel::iova(start + prng_.below(theirs_.zone_size() - length + 1));
  draft.wr.rkey = peer_.host().keys(MemoryModel::kOpen).rkey;
  draft.wr.flush_length = static_cast<std::uint32_t>(length);
  draft.wr.flush_placement = static_cast<std::uint8_t>(prng_.between(1, 3));
  return true;
}

}  // namespace nerve::dst
