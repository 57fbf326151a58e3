// READs and atomics through windows and small regions, and regions that are deregistered while
// requests use them.
#include <algorithm>

#include "tests/dst/request_maker.h"

namespace nerve::dst {

using nic::Access;
using nic::SendOp;
using nic::WcStatus;

std::optional<std::size_t> RequestMaker::draw_readable() {
  if (peer_maker_ == nullptr) return std::nullopt;
  const auto index = peer_maker_->draw_window(Window::State::kBound);
  if (!index) return std::nullopt;
  const Window& window = peer_maker_->windows_[*index];
  return window.handle || window.atomics ? index : std::nullopt;
}

bool RequestMaker::fill_read_through(Draft& draft, std::size_t index) {
  const Window& window = peer_maker_->windows_[index];
  const std::size_t length = std::min(draw_length(terms_.largest_message), window.range.length);
  const std::size_t at = window.range.offset + prng_.below(window.range.length - length + 1);
  draft.wr.rkey = window.rkey;
  draft.wr.remote_address = MemoryModel::iova(at);
  draft.request.window = index;
  const Bytes found = theirs_.expected(at, length);
  draft.request.message.assign(found.begin(), found.end());
  draft.request.reads_from = {at, length};
  return scatter(draft);
}

std::optional<RequestMaker::RemoteWord> RequestMaker::draw_word(bool open) {
  if (peer_maker_ == nullptr) return std::nullopt;
  std::vector<RemoteWord> found;
  for (std::size_t i = 0; i < peer_maker_->windows_.size(); ++i) {
    const Window& window = peer_maker_->windows_[i];
    if (window.state != Window::State::kBound || window.atomics != open) continue;
    const std::size_t first = (window.range.offset + 7) / 8 * 8;
    const std::size_t end = window.range.offset + window.range.length;
    if (first + 8 > end) continue;
    found.push_back({.offset = first + 8 * prng_.below((end - first) / 8), .window = i});
  }
  if (found.empty()) return std::nullopt;
  return found[prng_.below(found.size())];
}

// A window bound without the right to atomics.
bool RequestMaker::spoil_window_atomic(Draft& draft) {
  const auto word = draw_word(/*open=*/false);
  if (!word) return false;
  draft.wr.op = prng_.chance(500) ? SendOp::kCompareSwap : SendOp::kFetchAdd;
  draft.wr.rkey = peer_maker_->windows_[word->window].rkey;
  draft.wr.remote_address = MemoryModel::iova(word->offset);
  draft.wr.compare_or_add = prng_.next();
  draft.request.window = word->window;
  draft.request.must_be = WcStatus::kRemoteAccess;
  draft.request.message.resize(8);
  return scatter_nothing(draft);
}

void RequestMaker::register_desk() {
  const std::size_t length = prng_.between(64, std::size_t{bytes(terms_.mtu)} * 12);
  const auto at = own_.take(MemoryModel::kLocal, length, 1, prng_);
  if (!at) return;
  nic::Nic& nic = self_.host().nic();
  const auto region =
      nic.register_mr({.pd = self_.host().pd(),
                       .address = reinterpret_cast<std::uint64_t>(own_.pointer(*at)),
                       .length = length,
                       .iova = MemoryModel::iova(*at),
                       .access = Access::kLocalWrite,
                       .port = self_.host().port()});
  if (!region) return;
  desk_region_ = *region;
  desk_key_ = nic.keys_of(*region)->lkey;
  desk_ = {*at, length};
}

std::optional<std::size_t> RequestMaker::take_from_desk(std::size_t length) {
  if (!desk_region_ || length == 0 || desk_used_ + length > desk_.length) return std::nullopt;
  if (!prng_.chance(600)) return std::nullopt;
  const std::size_t at = desk_.offset + desk_used_;
  desk_used_ += length + prng_.below(4);
  return at;
}

bool RequestMaker::deregister_desk_in_use() {
  const auto& all = self_.requests();
  const auto first = all.end() - static_cast<std::ptrdiff_t>(self_.outstanding());
  const bool in_use =
      std::any_of(first, all.end(), [](const Request& request) { return request.uses_desk; });
  if (!desk_region_ || !in_use) return false;
  if (!self_.host().nic().deregister_mr(desk_region_)) {
    journal_.violation(events_.now(), "deregister_mr refused");
  }
  desk_region_ = {};
  self_.host().settle_memory();
  own_.seal(desk_.offset, desk_.length, prng_);
  return true;
}

bool RequestMaker::deregister_region_in_use() {
  if (prng_.chance(500) && deregister_desk_in_use()) return true;
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    Window& window = windows_[i];
    if (!window.region || !window_in_use(i)) continue;
    if (!self_.host().nic().deregister_mr(window.region)) {
      journal_.violation(events_.now(), "deregister_mr refused");
    }
    window.region = {};
    window.state = Window::State::kDead;
    self_.host().settle_memory();
    own_.seal(window.range.offset, window.range.length, prng_);
    return true;
  }
  return false;
}

}  // namespace nerve::dst
