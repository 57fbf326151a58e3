// Lengths and scatter/gather lists of RequestMaker.
#include <algorithm>

#include "tests/dst/request_maker.h"

namespace nerve::dst {

using nic::SendFlags;
using nic::SendOp;
using nic::WcStatus;

std::size_t RequestMaker::draw_length(std::size_t most) {
  const std::size_t mtu = bytes(terms_.mtu);
  if (terms_.wraps && self_.requests().size() < 2) {
    return std::min(mtu * prng_.between(2, 12) + prng_.below(3), most);
  }
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
      draft.inline_bytes.push_back(static_cast<std::byte>(prng_.next()));
    }
    message = draft.inline_bytes;
    draft.wr.flags |= SendFlags::kInline;
    draft.sges.push_back({.address = reinterpret_cast<std::uint64_t>(draft.inline_bytes.data()),
                          .length = static_cast<std::uint32_t>(length)});
    return true;
  }
  const bool one = draft.wr.op == SendOp::kAtomicWrite;
  std::uint64_t pieces = one ? 1 : prng_.between(length > 0 ? 1 : 0, terms_.caps.max_send_sge);
  std::size_t left = length;
  for (; pieces > 0; --pieces) {
    const std::size_t part = pieces == 1 ? left : prng_.between(0, left);
    std::size_t at = prng_.below(own_.zone_size() - part + 1);
    LKey key = self_.host().keys(MemoryModel::kStatic).lkey;
    if (const auto place = take_from_desk(part)) {
      at = *place;
      key = desk_key_;
      own_.scramble(at, part, prng_);
      draft.request.uses_desk = true;
      draft.request.scratch.push_back({at, part});
    } else if (prng_.chance(400)) {
      // Memory that the application reuses as soon as it may.
      const auto fresh = own_.take(MemoryModel::kLocal, part, 1, prng_);
      if (!fresh) return false;
      key = self_.host().keys(MemoryModel::kLocal).lkey;
      at = *fresh;
      own_.scramble(at, part, prng_);
      draft.request.scratch.push_back({at, part});
    }
    const Bytes source = own_.expected(at, part);
    message.insert(message.end(), source.begin(), source.end());
    draft.sges.push_back({.address = MemoryModel::iova(at),
                          .length = static_cast<std::uint32_t>(part),
                          .lkey = key});
    left -= part;
  }
  return true;
}

// Sends the result of an earlier READ, which is safe only with a fence.
bool RequestMaker::gather_result_of_read(Draft& draft, std::size_t most) {
  const auto& all = self_.requests();
  if (all.empty() || all.back().op != SendOp::kRead || all.back().message.size() > most) {
    return false;
  }
  const Request& read = all.back();
  if (read.local.size() > terms_.caps.max_send_sge || read.confirmed || read.uses_desk ||
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
    const auto desk = take_from_desk(part);
    const auto at = desk ? desk : own_.take(MemoryModel::kLocal, part, 1, prng_);
    if (!at) return false;
    if (desk) draft.request.uses_desk = true;
    const Bytes before = own_.expected(*at, part);
    const Bytes after = Bytes{message}.subspan(done, part);
    draft.request.local.push_back({.memory = &own_,
                                   .offset = *at,
                                   .length = part,
                                   .before = {before.begin(), before.end()},
                                   .after = {after.begin(), after.end()}});
    draft.sges.push_back({.address = MemoryModel::iova(*at),
                          .length = static_cast<std::uint32_t>(part),
                          .lkey = desk ? desk_key_ : self_.host().keys(MemoryModel::kLocal).lkey});
    done += part;
  }
  // An atomic uses the first eight bytes of a longer entry. The rest is canaries, or memory beyond
  // the region, which is not checked.
  if (atomic && prng_.chance(200)) {
    draft.sges.back().length += static_cast<std::uint32_t>(prng_.between(1, 64));
  }
  return true;
}

}  // namespace nerve::dst
