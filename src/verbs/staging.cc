#include "verbs/staging.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace nerve::verbs {

// calloc is used because untouched pages cost nothing; it requires trivial types.
static_assert(std::is_trivially_copyable_v<nic::SendWr>);
static_assert(std::is_trivially_copyable_v<nic::Sge>);

std::unique_ptr<Staging> Staging::create(const nic::QpCaps& caps) {
  auto made = std::unique_ptr<Staging>{new (std::nothrow) Staging{caps}};
  if (!made) return nullptr;
  const std::size_t requests = std::max(caps.max_send_wr, 1U);
  made->stride_ = std::max(caps.max_send_sge, 1U);
  made->requests_ = static_cast<nic::SendWr*>(std::calloc(requests, sizeof(nic::SendWr)));
  made->lists_ = static_cast<nic::Sge*>(std::calloc(requests * made->stride_, sizeof(nic::Sge)));
  made->inline_ = static_cast<std::byte*>(std::calloc(requests, std::max(caps.max_inline, 1U)));
  const bool whole =
      made->requests_ != nullptr && made->lists_ != nullptr && made->inline_ != nullptr;
  return whole ? std::move(made) : nullptr;
}

Staging::~Staging() {
  std::free(requests_);
  std::free(lists_);
  std::free(inline_);
}

nic::SendWr& Staging::add() {
  inline_used_ = 0;
  if (count_ == caps_.max_send_wr) {
    fail(ENOMEM);
    return spare_ = {};
  }
  return requests_[count_++] = {};
}

void Staging::set_list(const nic::Sge* list, std::size_t count) {
  if (count > caps_.max_send_sge) return fail(EINVAL);
  nic::Sge* own = lists_ + at() * stride_;
  std::copy_n(list, count, own);
  last().sges = {own, count};
}

void Staging::begin_inline() {
  inline_used_ = 0;
  nic::Sge* own = lists_ + at() * stride_;
  *own = {.address = reinterpret_cast<std::uint64_t>(inline_ + at() * caps_.max_inline),
          .length = 0,
          .lkey = {}};
  last().sges = {own, 1};
  last().flags |= nic::SendFlags::kInline;
}

void Staging::add_inline(const void* from, std::size_t length) {
  if (length > caps_.max_inline - inline_used_) return fail(EINVAL);
  if (length == 0) return;
  std::memcpy(inline_ + at() * caps_.max_inline + inline_used_, from, length);
  inline_used_ += length;
  lists_[at() * stride_].length = static_cast<std::uint32_t>(inline_used_);
}

}  // namespace nerve::verbs
