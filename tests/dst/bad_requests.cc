// Requests of RequestMaker that must fail and must not change any byte.
#include "tests/dst/request_maker.h"

namespace nerve::dst {

using nic::SendOp;
using nic::WcStatus;

bool RequestMaker::spoil(Draft& draft) {
  if (self_.type() == nic::QpType::kUc) return false;
  const RKey open = peer_.host().keys(MemoryModel::kOpen).rkey;
  draft.request.signaled = true;
  draft.request.must_be = WcStatus::kRemoteAccess;
  const std::size_t length = prng_.between(1, terms_.largest_message);
  const std::size_t start = theirs_.zone_start(MemoryModel::kOpen);
  draft.wr.op = prng_.chance(500) ? SendOp::kWrite : SendOp::kRead;
  draft.wr.rkey = open;
  draft.wr.remote_address = MemoryModel::iova(start);
  const bool has_dead = peer_maker_ != nullptr && peer_maker_->draw_window(Window::State::kDead);
  if (has_dead && prng_.chance(400)) return spoil_window(draft);
  switch (prng_.below(9)) {
    case 0:  // a key that differs in its variant byte
      draft.wr.rkey = RKey{open.value() ^ static_cast<std::uint32_t>(prng_.between(1, 255))};
      break;
    case 1:  // one byte past the end, or more
      draft.wr.remote_address = MemoryModel::iova(start + theirs_.zone_size() - length +
                                                  (prng_.chance(700) ? 1 : length));
      break;
    case 2: {  // rights that the region does not grant
      const bool write = draft.wr.op == SendOp::kWrite;
      const auto zone = write && prng_.chance(500) ? MemoryModel::kStatic : MemoryModel::kLocal;
      draft.wr.rkey = peer_.host().keys(zone).rkey;
      draft.wr.remote_address = MemoryModel::iova(theirs_.zone_start(zone));
      break;
    }
    case 3:  // a revoked key, or one with fewer rights
    case 4:
      return spoil_window(draft);
    case 5:  // a key that cannot be invalidated
      return spoil_invalidate(draft);
    case 6:  // a misaligned word
      return spoil_atomic(draft);
    case 7:  // more than the receive holds
      if (!promise_receive(draft)) return false;
      draft.wr.op = SendOp::kSend;
      draft.request.must_be = WcStatus::kRemoteInvalidRequest;
      return gather(draft, terms_.receive_capacity + prng_.between(1, 2000));
    default:  // a source without read permission
      draft.wr.op = SendOp::kWrite;
      draft.request.must_be = WcStatus::kLocalProtection;
      draft.sges.push_back({.address = MemoryModel::iova(0),
                            .length = static_cast<std::uint32_t>(length),
                            .lkey = LKey{self_.host().keys(MemoryModel::kLocal).lkey.value() ^ 3}});
      draft.request.message.resize(length);
      return true;
  }
  if (draft.wr.op == SendOp::kWrite) {
    // With an immediate, the receive it takes completes with an error too.
    if (prng_.chance(300) && promise_receive(draft)) {
      draft.wr.op = SendOp::kWriteImm;
    }
    return gather(draft, length);
  }
  draft.request.message.resize(length);
  return scatter_nothing(draft);
}

// Chooses ranges for an answer that must not arrive.
bool RequestMaker::scatter_nothing(Draft& draft) {
  const bool placed = scatter(draft);
  for (Patch& patch : draft.request.local) patch.after = patch.before;
  return placed;
}

bool RequestMaker::spoil_window(Draft& draft) {
  if (peer_maker_ == nullptr) return false;
  if (terms_.window_atomics && prng_.chance(500)) return spoil_window_atomic(draft);
  const auto index = peer_maker_->draw_window(Window::State::kDead);
  if (!index) return false;
  const Window& window = peer_maker_->windows_[*index];
  draft.wr.op = SendOp::kWrite;
  draft.wr.rkey = window.rkey;
  draft.wr.remote_address = MemoryModel::iova(window.range.offset);
  return gather(draft, prng_.between(1, window.range.length));
}

// Regions and type 1 windows cannot be invalidated, neither by their owner nor by a peer.
bool RequestMaker::spoil_invalidate(Draft& draft) {
  if (peer_maker_ == nullptr) return false;
  if (prng_.chance(500)) {
    const auto index = draw_window(Window::State::kBound);
    if (!index || windows_[*index].can_be_invalidated()) return false;
    draft.wr.op = SendOp::kLocalInvalidate;
    draft.wr.rkey = windows_[*index].rkey;
    draft.request.must_be = WcStatus::kMwBind;
    return true;
  }
  const auto index = peer_maker_->draw_window(Window::State::kBound);
  if (!index || peer_maker_->windows_[*index].can_be_invalidated()) return false;
  if (!promise_receive(draft)) return false;
  draft.wr.op = SendOp::kSendInvalidate;
  draft.wr.rkey = draft.request.invalidate = peer_maker_->windows_[*index].rkey;
  return gather(draft, draw_length(terms_.receive_capacity));
}

bool RequestMaker::spoil_atomic(Draft& draft) {
  if (!word_) return false;
  draft.wr.op = prng_.chance(500) ? SendOp::kCompareSwap : SendOp::kFetchAdd;
  if (self_.type() == nic::QpType::kRc && prng_.chance(300)) draft.wr.op = SendOp::kAtomicWrite;
  draft.wr.remote_address = MemoryModel::iova(*word_ + prng_.between(1, 7));
  draft.wr.compare_or_add = prng_.next();
  draft.request.must_be = WcStatus::kRemoteInvalidRequest;
  if (draft.wr.op == SendOp::kAtomicWrite) return gather(draft, 8);
  draft.request.message.resize(8);
  return scatter_nothing(draft);
}

}  // namespace nerve::dst
