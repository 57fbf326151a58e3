// Keys to parts of a host's memory that change: windows of both types, and regions that are
// re-registered with another address, domain or rights.
#include <algorithm>

#include "tests/dst/request_maker.h"

namespace nerve::dst {

using nic::Access;
using nic::MrChange;
using nic::MwType;
using nic::SendOp;

std::optional<std::size_t> RequestMaker::draw_window(Window::State state) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (windows_[i].state == state) found.push_back(i);
  }
  if (found.empty()) return std::nullopt;
  // Prefer what changed last, above all a key that must not work any more.
  if (prng_.chance(state == Window::State::kDead ? 600 : 300)) return found.back();
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
  if (peer_maker_ == nullptr) return false;
  const auto again = draw_window(Window::State::kBound);
  if (again && windows_[*again].type == MwType::kType1 && !window_in_use(*again)) {
    return bind_again(draft, *again);
  }
  const auto handles =
      std::ranges::count_if(windows_, [](const Window& w) { return static_cast<bool>(w.handle); });
  if (handles >= 4) return false;
  const std::size_t length = prng_.between(1, std::size_t{bytes(terms_.mtu)} * 2);
  const auto at = own_.take(MemoryModel::kOpen, length, 1, prng_);
  if (!at) return false;
  nic::Nic& nic = self_.host().nic();
  const MwType type = prng_.chance(500) ? MwType::kType1 : MwType::kType2;
  const auto handle = nic.alloc_mw(self_.host().pd(), type);
  if (!handle) return false;
  Window window{.handle = *handle, .type = type, .range = {*at, length}};
  draft.request.window = windows_.size();
  choose_key(draft, window, *nic.rkey_of(*handle));
  windows_.push_back(window);
  return true;
}

// A type 1 window needs no invalidation: it is bound again, or unbound.
bool RequestMaker::bind_again(Draft& draft, std::size_t index) {
  Window& window = windows_[index];
  Range range{};
  if (prng_.chance(500)) {
    range.length = prng_.between(1, std::size_t{bytes(terms_.mtu)} * 2);
    const auto at = own_.take(MemoryModel::kOpen, range.length, 1, prng_);
    if (!at) return false;
    range.offset = *at;
  }
  window.old_rkey = window.rkey;
  window.old_range = window.range;
  window.range = range;
  window.state = range.length > 0 ? Window::State::kBinding : Window::State::kDying;
  draft.request.window = index;
  choose_key(draft, window, window.rkey);
  return true;
}

void RequestMaker::choose_key(Draft& draft, Window& window, RKey old) {
  const bool engine_chooses = window.type == MwType::kType1 && prng_.chance(500);
  const std::uint32_t variant = (old.value() + static_cast<std::uint32_t>(prng_.between(1, 255)));
  window.rkey = engine_chooses ? RKey{} : RKey{(old.value() & ~0xffU) | (variant & 0xffU)};
  window.atomics = terms_.window_atomics && prng_.chance(600);
  const Access more = window.atomics ? Access::kRemoteAtomic : Access::kNone;
  draft.wr.bind = {.window = window.handle,
                   .region = self_.host().region(MemoryModel::kOpen),
                   .address = MemoryModel::iova(window.range.offset),
                   .length = window.range.length,
                   .access = Access::kRemoteWrite | Access::kRemoteRead | more,
                   .new_rkey = window.rkey};
  // The program chooses only the low 8 bits.
  if (!engine_chooses && prng_.chance(200)) {
    const auto foreign = static_cast<std::uint32_t>(prng_.next()) & ~0xffU;
    draft.wr.bind.new_rkey = RKey{foreign | (window.rkey.value() & 0xffU) | 0x100U};
  }
  // The new key is needed, so the bind must be signalled.
  draft.request.signaled = true;
}

void RequestMaker::bound(Window& window) {
  const RKey now = *self_.host().nic().rkey_of(window.handle);
  const bool wrong = window.rkey != RKey{} && now != window.rkey;
  if (wrong || now == window.old_rkey) journal_.violation(events_.now(), "a wrong key was bound");
  window.rkey = now;
  window.state = window.state == Window::State::kDying ? Window::State::kDead  //
                                                       : Window::State::kBound;
  if (window.old_rkey == RKey{}) return;
  const Window past{
      .rkey = window.old_rkey, .range = window.old_range, .state = Window::State::kDead};
  if (window.state == Window::State::kDead) window.range = past.range;
  windows_.push_back(past);
}

void RequestMaker::register_region() {
  // A longer one is in use for longer.
  const std::size_t mtus = terms_.regions_vanish ? 8 : 2;
  const std::size_t length = prng_.between(1, std::size_t{bytes(terms_.mtu)} * mtus);
  const auto at = own_.take(MemoryModel::kOpen, length, 1, prng_);
  if (!at) return;
  nic::Nic& nic = self_.host().nic();
  const bool writable = prng_.chance(600);
  const auto region =
      nic.register_mr({.pd = self_.host().pd(),
                       .address = reinterpret_cast<std::uint64_t>(own_.pointer(*at)),
                       .length = length,
                       .iova = MemoryModel::iova(*at),
                       .access = rights_of_region(writable),
                       .port = self_.host().port()});
  if (!region) return;
  windows_.push_back({.region = *region,
                      .rkey = nic.keys_of(*region)->rkey,
                      .range = {*at, length},
                      .state = writable ? Window::State::kBound : Window::State::kDead,
                      .writable = writable,
                      .atomics = writable && terms_.window_atomics});
}

Access RequestMaker::rights_of_region(bool writable) const {
  if (!writable) return Access::kRemoteRead;
  const Access rights = Access::kLocalWrite | Access::kRemoteWrite;
  return terms_.window_atomics ? rights | Access::kRemoteRead | Access::kRemoteAtomic : rights;
}

bool RequestMaker::reregister_region(bool in_use) {
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    Window& window = windows_[i];
    if (!window.region || window_in_use(i) != in_use) continue;
    const Window past{.rkey = window.rkey, .range = window.range, .state = Window::State::kDead};
    auto change = static_cast<MrChange>(prng_.between(1, 7));
    // A key that gains rights would serve a request that was built to fail, so it is replaced too.
    if (contains(change, MrChange::kAccess) && !window.writable) change |= MrChange::kTranslation;
    if (contains(change, MrChange::kTranslation)) {
      const std::size_t length = prng_.between(1, std::size_t{bytes(terms_.mtu)} * 2);
      const auto at = own_.take(MemoryModel::kOpen, length, 1, prng_);
      if (!at) return false;
      window.range = {*at, length};
    }
    if (contains(change, MrChange::kPd)) window.in_other_pd = !window.in_other_pd;
    if (contains(change, MrChange::kAccess)) window.writable = !window.writable;
    Host& host = self_.host();
    const auto status = host.nic().reregister_mr(
        window.region, change,
        {.pd = window.in_other_pd ? host.other_pd() : host.pd(),
         .address = reinterpret_cast<std::uint64_t>(own_.pointer(window.range.offset)),
         .length = window.range.length,
         .iova = MemoryModel::iova(window.range.offset),
         .access = rights_of_region(window.writable),
         .port = host.port()});
    if (!status) journal_.violation(events_.now(), "reregister_mr refused");
    window.rkey = host.nic().keys_of(window.region)->rkey;
    const bool open = window.writable && !window.in_other_pd;
    window.state = open ? Window::State::kBound : Window::State::kDead;
    window.atomics = window.writable && terms_.window_atomics;
    if (past.rkey != window.rkey) windows_.push_back(past);
    return true;
  }
  return false;
}

bool RequestMaker::fill_local_invalidate(Draft& draft) {
  const auto index = draw_window(Window::State::kBound);
  if (!index || window_in_use(*index)) return false;
  Window& window = windows_[*index];
  if (window.region) {
    // A region is deregistered by a control call; its key must be invalid from here on.
    if (!self_.host().nic().deregister_mr(window.region)) {
      journal_.violation(events_.now(), "deregister_mr refused");
    }
    window.region = {};
    window.state = Window::State::kDead;
    return false;
  }
  if (!window.can_be_invalidated()) return false;
  window.state = Window::State::kDying;
  draft.wr.rkey = window.rkey;
  draft.request.window = index;
  return true;
}

void RequestMaker::on_confirmed(const Request& request) {
  if (request.op == SendOp::kBindMw) bound(windows_[*request.window]);
  if (request.op == SendOp::kLocalInvalidate) {
    windows_[*request.window].state = Window::State::kDead;
  }
}

void RequestMaker::drop_windows() {
  for (Window& window : windows_) {
    if (window.region) (void)self_.host().nic().deregister_mr(window.region);
    if (window.handle) (void)self_.host().nic().dealloc_mw(window.handle);
    window.region = {};
    window.handle = {};
    window.state = Window::State::kDead;
  }
  if (desk_region_) (void)self_.host().nic().deregister_mr(desk_region_);
  desk_region_ = {};
}

}  // namespace nerve::dst
