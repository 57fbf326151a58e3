// The rest of RequestMaker: lengths, lists, windows, and requests that must fail.
#include <algorithm>

#include "tests/dst/request_maker.h"

namespace nerve::dst {

using nic::Access;
using nic::SendFlags;
using nic::SendOp;
using nic::WcStatus;

std::size_t RequestMaker::draw_length(std::size_t most) {
  const std::size_t mtu = octets(terms_.mtu);
  std::size_t length = 0;
  switch (prng_.below(8)) {
    case 0:
      length = 0;
      break;
    case 1:
    case 2:
    case 3:
      length = prng_.between(1, 64);
      break;
    case 4:
    case 5:
      length = prng_.between(1, mtu);
      break;
    case 6:
      length = mtu * prng_.between(1, 4) + prng_.below(3) - 1;
      break;
    default:
      length = prng_.between(0, most);
  }
  return std::min(length, most);
}

bool RequestMaker::gather(Draft& draft, std::size_t length) {
  std::vector<std::byte>& message = draft.request.message;
  const bool is_inline =
      length <= terms_.caps.max_inline && prng_.chance(400) && draft.wr.op != SendOp::kAtomicWrite;
  if (is_inline) {
    for (std::size_t i = 0; i < length; ++i) {
      draft.inline_octets.push_back(static_cast<std::byte>(prng_.next()));
    }
    message = draft.inline_octets;
    draft.wr.flags |= SendFlags::kInline;
    draft.sges.push_back({.address = reinterpret_cast<std::uint64_t>(draft.inline_octets.data()),
                          .length = static_cast<std::uint32_t>(length)});
    return true;
  }
  const bool one = draft.wr.op == SendOp::kAtomicWrite;
  std::uint64_t pieces = one ? 1 : prng_.between(length > 0 ? 1 : 0, terms_.caps.max_send_sge);
  std::size_t left = length;
  for (; pieces > 0; --pieces) {
    const std::size_t part = pieces == 1 ? left : prng_.between(0, left);
    auto zone = MemoryModel::kStatic;
    std::size_t at = prng_.below(own_.zone_size() - part + 1);
    if (prng_.chance(400)) {
      // Memory that the application will use again as soon as it may.
      const auto fresh = own_.take(MemoryModel::kLocal, part, 1, prng_);
      if (!fresh) return false;
      zone = MemoryModel::kLocal;
      at = *fresh;
      own_.scramble(at, part, prng_);
      draft.request.scratch.push_back({at, part});
    }
    const Octets source = own_.expected(at, part);
    message.insert(message.end(), source.begin(), source.end());
    draft.sges.push_back({.address = MemoryModel::iova(at),
                          .length = static_cast<std::uint32_t>(part),
                          .lkey = self_.host().keys(zone).lkey});
    left -= part;
  }
  return true;
}

// Sends on what a READ before it brings, which only a fence makes safe.
bool RequestMaker::gather_result_of_read(Draft& draft, std::size_t most) {
  const auto& all = self_.requests();
  if (all.empty() || all.back().op != SendOp::kRead || all.back().message.size() > most) {
    return false;
  }
  const Request& read = all.back();
  if (read.local.size() > terms_.caps.max_send_sge || read.confirmed ||
      read.must_be != WcStatus::kSuccess) {
    return false;
  }
  draft.request.message = read.message;
  for (const Patch& patch : read.local) {
    draft.sges.push_back({.address = MemoryModel::iova(patch.offset),
                          .length = static_cast<std::uint32_t>(patch.length),
                          .lkey = self_.host().keys(MemoryModel::kLocal).lkey});
  }
  draft.wr.flags |= SendFlags::kFence;
  return true;
}

bool RequestMaker::scatter(Draft& draft) {
  const std::vector<std::byte>& message = draft.request.message;
  const bool atomic = draft.wr.op != SendOp::kRead;
  std::uint64_t pieces = atomic ? 1 : prng_.between(1, terms_.caps.max_send_sge);
  std::size_t done = 0;
  for (; pieces > 0; --pieces) {
    const std::size_t left = message.size() - done;
    const std::size_t part = pieces == 1 ? left : prng_.between(0, left);
    const auto at = own_.take(MemoryModel::kLocal, part, 1, prng_);
    if (!at) return false;
    const Octets before = own_.expected(*at, part);
    const Octets after = Octets{message}.subspan(done, part);
    draft.request.local.push_back({.memory = &own_,
                                   .offset = *at,
                                   .length = part,
                                   .before = {before.begin(), before.end()},
                                   .after = {after.begin(), after.end()}});
    draft.sges.push_back({.address = MemoryModel::iova(*at),
                          .length = static_cast<std::uint32_t>(part),
                          .lkey = self_.host().keys(MemoryModel::kLocal).lkey});
    done += part;
  }
  return true;
}

std::optional<std::size_t> RequestMaker::draw_window(Window::State state) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (windows_[i].state == state) found.push_back(i);
  }
  if (found.empty()) return std::nullopt;
  return found[prng_.below(found.size())];
}

bool RequestMaker::window_in_use(std::size_t index) const {
  if (peer_maker_ == nullptr) return false;
  const auto& all = peer_.requests();
  const auto first = all.end() - static_cast<std::ptrdiff_t>(peer_.outstanding());
  return std::any_of(first, all.end(), [&](const Request& r) {
    return r.window == index && r.op != SendOp::kBindMw && r.op != SendOp::kLocalInvalidate;
  });
}

bool RequestMaker::fill_bind(Draft& draft) {
  if (peer_maker_ == nullptr || windows_.size() >= 4) return false;
  const std::size_t length = prng_.between(1, std::size_t{octets(terms_.mtu)} * 2);
  const auto at = own_.take(MemoryModel::kOpen, length, 1, prng_);
  if (!at) return false;
  nic::Nic& nic = self_.host().nic();
  const auto window = nic.alloc_mw(self_.host().pd(), nic::MwType::kType2);
  if (!window) return false;
  const RKey old = *nic.rkey_of(*window);
  const RKey fresh{(old.value() & ~0xffU) | static_cast<std::uint32_t>(prng_.below(256))};
  draft.wr.bind = {.window = *window,
                   .region = self_.host().region(MemoryModel::kOpen),
                   .address = MemoryModel::iova(*at),
                   .length = length,
                   .access = Access::kRemoteWrite | Access::kRemoteRead,
                   .new_rkey = fresh};
  draft.request.window = windows_.size();
  windows_.push_back({.handle = *window, .rkey = fresh, .range = {*at, length}});
  // A bind that nobody hears of helps nobody.
  draft.request.signaled = true;
  return true;
}

void RequestMaker::register_region() {
  const std::size_t length = prng_.between(1, std::size_t{octets(terms_.mtu)} * 2);
  const auto at = own_.take(MemoryModel::kOpen, length, 1, prng_);
  if (!at) return;
  nic::Nic& nic = self_.host().nic();
  const auto region =
      nic.register_mr({.pd = self_.host().pd(),
                       .address = reinterpret_cast<std::uint64_t>(own_.pointer(*at)),
                       .length = length,
                       .iova = MemoryModel::iova(*at),
                       .access = Access::kLocalWrite | Access::kRemoteWrite});
  if (!region) return;
  windows_.push_back({.region = *region,
                      .rkey = nic.keys_of(*region)->rkey,
                      .range = {*at, length},
                      .state = Window::State::kBound});
}

bool RequestMaker::fill_local_invalidate(Draft& draft) {
  const auto index = draw_window(Window::State::kBound);
  if (!index || window_in_use(*index)) return false;
  if (windows_[*index].region) {
    // A region goes away by a control call; its key must be dead from here on.
    if (!self_.host().nic().deregister_mr(windows_[*index].region)) {
      journal_.violation(events_.now(), "deregister_mr refused");
    }
    windows_[*index].state = Window::State::kDead;
    return false;
  }
  windows_[*index].state = Window::State::kDying;
  draft.wr.rkey = windows_[*index].rkey;
  draft.request.window = index;
  return true;
}

void RequestMaker::on_confirmed(const Request& request) {
  if (request.op == SendOp::kBindMw) windows_[*request.window].state = Window::State::kBound;
  if (request.op == SendOp::kLocalInvalidate) {
    windows_[*request.window].state = Window::State::kDead;
  }
}

void RequestMaker::drop_windows() {
  for (Window& window : windows_) {
    if (window.region) {
      (void)self_.host().nic().deregister_mr(window.region);
    } else {
      (void)self_.host().nic().dealloc_mw(window.handle);
    }
    window.state = Window::State::kDead;
  }
}

// Makes the draft one that must fail, and must not change a single octet.
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
  switch (prng_.below(6)) {
    case 0:  // a key that differs in its variant octet
      draft.wr.rkey = RKey{open.value() ^ static_cast<std::uint32_t>(prng_.between(1, 255))};
      break;
    case 1:  // one octet past the end, or more
      draft.wr.remote_address = MemoryModel::iova(start + theirs_.zone_size() - length +
                                                  (prng_.chance(700) ? 1 : length));
      break;
    case 2: {  // rights that the region does not give
      const bool write = draft.wr.op == SendOp::kWrite;
      const auto zone = write && prng_.chance(500) ? MemoryModel::kStatic : MemoryModel::kLocal;
      draft.wr.rkey = peer_.host().keys(zone).rkey;
      draft.wr.remote_address = MemoryModel::iova(theirs_.zone_start(zone));
      break;
    }
    case 3: {  // a window that is gone
      if (peer_maker_ == nullptr) return false;
      const auto index = peer_maker_->draw_window(Window::State::kDead);
      if (!index) return false;
      const Window& window = peer_maker_->windows_[*index];
      draft.wr.op = SendOp::kWrite;
      draft.wr.rkey = window.rkey;
      draft.wr.remote_address = MemoryModel::iova(window.range.offset);
      break;
    }
    case 4:  // more than the receive holds
      if (peer_receives_ == nullptr || !peer_receives_->promise()) return false;
      draft.wr.op = SendOp::kSend;
      draft.request.consumes_receive = true;
      draft.request.must_be = WcStatus::kRemoteInvalidRequest;
      return gather(draft, terms_.receive_capacity + prng_.between(1, 2000));
    default:  // a source that we may not read
      draft.wr.op = SendOp::kWrite;
      draft.request.must_be = WcStatus::kLocalProtection;
      draft.sges.push_back({.address = MemoryModel::iova(0),
                            .length = static_cast<std::uint32_t>(length),
                            .lkey = LKey{self_.host().keys(MemoryModel::kLocal).lkey.value() ^ 3}});
      draft.request.message.resize(length);
      return true;
  }
  if (draft.wr.op == SendOp::kWrite) return gather(draft, length);
  draft.request.message.resize(length);
  const bool placed = scatter(draft);
  for (Patch& patch : draft.request.local) patch.after = patch.before;  // nothing may arrive
  return placed;
}

}  // namespace nerve::dst
