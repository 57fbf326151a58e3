// Completion queues: creating, polling, arming.
#include "verbs/cq.h"

#include <endian.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <span>

namespace nerve::verbs {
namespace {

void fill(ibv_wc& wc, const nic::Completion& completion) {
  wc.wr_id = completion.wr_id;
  wc.status = static_cast<ibv_wc_status>(completion.status);
  wc.opcode = opcode_of(completion.opcode);
  wc.vendor_err = 0;
  wc.byte_len = completion.bytes;
  wc.imm_data = immediate_of(completion);
  wc.qp_num = completion.qpn.value();
  wc.src_qp = completion.source_qpn.value();
  wc.wc_flags = flags_of(completion.flags);
  wc.pkey_index = completion.pkey_index;
  wc.slid = 0;
  wc.sl = completion.service_level;
  wc.dlid_path_bits = 0;
}

// NICs round up the requested depth, and programs rely on it: ib_send_lat asks for one entry, but
// has two completions at once if an acknowledgement was lost.
std::uint32_t room_for(std::uint32_t depth) { return std::max(depth, 16U); }

VerbsCq* make_cq(ibv_context* context, std::uint32_t asked, void* cq_context,
                 ibv_comp_channel* channel, bool ignore_overrun) {
  if (const int error = check_live(context); error != 0) return none(error);
  if (const int error = check_live_or_null(channel); error != 0) return none(error);
  const std::uint32_t depth = room_for(asked);
  auto made = std::unique_ptr<VerbsCq>{new (std::nothrow) VerbsCq};
  if (!made) return none(ENOMEM);
  made->adapter = ours(context).adapter.get();
  {
    Session session{*made->adapter, Session::For::kObjects};
    const auto handle = session->create_cq(
        {.depth = depth, .cookie = made->events.cookie(), .ignore_overrun = ignore_overrun});
    if (!handle) return none(refused(context, handle.error()));
    made->handle = *handle;
    made->waiting = session->cq_gauge(*handle);
  }
  ibv_cq_ex& cq = made->ex;
  cq.context = context;
  cq.channel = channel;
  cq.cq_context = cq_context;
  cq.handle = made->handle.index;
  cq.cqe = static_cast<int>(depth);
  ::pthread_mutex_init(&cq.mutex, nullptr);
  ::pthread_cond_init(&cq.cond, nullptr);
  if (channel != nullptr) {
    ::pthread_mutex_lock(&channel->context->mutex);
    ++channel->refcnt;
    ::pthread_mutex_unlock(&channel->context->mutex);
  }
  add_live(*made->base());
  return made.release();
}

// No more events can come; waits until the program has acknowledged those that it fetched.
void wait_for_acks(VerbsCq& cq) {
  // In a forked child the thread that would acknowledge does not exist.
  if (ours(cq.ex.context).async.inherited()) return;
  ::pthread_mutex_lock(&cq.ex.mutex);
  while (cq.ex.comp_events_completed != cq.channel_reported ||
         cq.ex.async_events_completed != cq.async_reported) {
    ::pthread_cond_wait(&cq.ex.cond, &cq.ex.mutex);
  }
  ::pthread_mutex_unlock(&cq.ex.mutex);
}

bool is_vector(ibv_context* context, std::uint64_t vector) {
  return vector < static_cast<std::uint64_t>(context->num_comp_vectors);
}

}  // namespace

void CqEvents::on_event(const nic::Event& event) {
  if (event.kind != nic::EventKind::kCompletion) {
    ours(owner.ex.context)
        .async.push(
            {.type = event_type(event.kind), .element = &owner, .reported = &owner.async_reported});
  } else if (owner.ex.channel != nullptr) {
    ours(owner.ex.channel).events.push(&owner);
  }
}

ibv_wc_opcode opcode_of(nic::WcOpcode opcode) {
  // IBV_WC_FLUSH, which the headers of rdma-core 44 do not have yet.
  constexpr auto kFlush = static_cast<ibv_wc_opcode>(8);
  constexpr std::array kOpcodes{IBV_WC_SEND,      IBV_WC_RDMA_WRITE,        IBV_WC_RDMA_READ,
                                IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,         IBV_WC_BIND_MW,
                                IBV_WC_LOCAL_INV, IBV_WC_ATOMIC_WRITE,      kFlush,
                                IBV_WC_RECV,      IBV_WC_RECV_RDMA_WITH_IMM};
  static_assert(kOpcodes.size() == static_cast<std::size_t>(nic::WcOpcode::kRecvWriteImm) + 1);
  return kOpcodes[static_cast<std::size_t>(opcode)];
}

unsigned flags_of(nic::WcFlags flags) {
  unsigned out = 0;
  if (contains(flags, nic::WcFlags::kGrh)) out |= IBV_WC_GRH;
  if (contains(flags, nic::WcFlags::kImmediate)) out |= IBV_WC_WITH_IMM;
  if (contains(flags, nic::WcFlags::kInvalidate)) out |= IBV_WC_WITH_INV;
  return out;
}

std::uint32_t immediate_of(const nic::Completion& completion) {
  return contains(completion.flags, nic::WcFlags::kImmediate) ? htobe32(completion.immediate)
                                                              : completion.immediate;
}

bool VerbsCq::drive(Session& session) const {
  if (session.idle()) return false;
  session.drive();
  if (empty() && (!session.found_nothing(handle) || empty())) return false;
  session.found_something();
  return true;
}

int poll_cq(ibv_cq* cq, int count, ibv_wc* out) noexcept {
  VerbsCq& mine = ours(cq);
  if (mine.left_to_others()) return 0;
  Session session{*mine.adapter, mine.shard, Session::For::kWork};
  const bool was_empty = mine.empty();
  if (was_empty && !mine.drive(session)) return 0;
  std::array<nic::Completion, 4> taken;  // few, because most polls return one or none
  int filled = 0;
  for (bool more = true; more && filled < count;) {
    const auto room = std::min<std::size_t>(taken.size(), static_cast<std::size_t>(count - filled));
    const auto got = session->poll_cq(mine.handle, std::span{taken}.first(room));
    if (!got) return -1;
    for (std::size_t i = 0; i < *got; ++i) {
      if (taken[i].status == nic::WcStatus::kRetryExceeded) [[unlikely]]
        session.explain_no_answer(taken[i].qpn);
      fill(out[filled++], taken[i]);
    }
    more = *got == room;
  }
  if (!was_empty) session.polled();
  return filled;
}

int req_notify_cq(ibv_cq* cq, int solicited_only) noexcept {
  VerbsCq& mine = ours(cq);
  const Session session{*mine.adapter, mine.shard, Session::For::kControl};
  const auto armed = session->arm_cq(mine.handle, solicited_only != 0);
  if (cq->channel != nullptr) ours(cq->channel).armed_in = mine.shard.shard();
  return armed ? 0 : refused(cq->context, armed.error());
}

int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr) noexcept {
  if (const int error = check_live(cq); error != 0) return fail(error);
  VerbsCq& mine = ours(cq);
  if ((attr->attr_mask & ~std::uint32_t{IBV_CQ_ATTR_MODERATE}) != 0) return fail(EOPNOTSUPP);
  if (attr->attr_mask == 0) return 0;
  const auto changed = Session(*mine.adapter, mine.shard, Session::For::kControl)
                           ->moderate_cq(mine.handle, attr->moderate.cq_count,
                                         std::chrono::microseconds{attr->moderate.cq_period});
  return changed ? 0 : refused(cq->context, changed.error());
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) noexcept {
  constexpr auto kOffered = std::uint64_t{IBV_WC_STANDARD_FLAGS} |
                            IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                            IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  constexpr std::uint32_t kFlags =
      IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  if ((attr->wc_flags & ~kOffered) != 0) return none(EOPNOTSUPP);
  if ((attr->comp_mask & ~std::uint32_t{IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD}) !=
      0) {
    return none(EINVAL);
  }
  const bool has_flags = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
  const std::uint32_t flags = has_flags ? attr->flags : 0;
  if ((flags & ~kFlags) != 0) return none(EOPNOTSUPP);
  if (const int error = check_live(context); error != 0) return none(error);
  if (attr->cqe == 0 || !is_vector(context, attr->comp_vector)) return none(EINVAL);
  VerbsCq* made = make_cq(context, attr->cqe, attr->cq_context, attr->channel,
                          (flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0);
  if (made == nullptr) return nullptr;
  made->single_threaded = (flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
  set_readers(made->ex, attr->wc_flags);
  return &made->ex;
}

}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

ibv_cq* ibv_create_cq(ibv_context* context, int depth, void* cq_context, ibv_comp_channel* channel,
                      int vector) VERBS_NOEXCEPT {
  if (const int error = check_live(context); error != 0) return none(error);
  if (depth < 1 || vector < 0 || !is_vector(context, static_cast<std::uint64_t>(vector))) {
    return none(EINVAL);
  }
  VerbsCq* made = make_cq(context, static_cast<std::uint32_t>(depth), cq_context, channel, false);
  return made == nullptr ? nullptr : made->base();
}

int ibv_resize_cq(ibv_cq* cq, int depth) VERBS_NOEXCEPT {
  if (const int error = check_live(cq); error != 0) return fail(error);
  if (depth < 1) return fail(EINVAL);
  VerbsCq& mine = ours(cq);
  const auto resized = Session(*mine.adapter, mine.shard, Session::For::kControl)
                           ->resize_cq(mine.handle, static_cast<std::uint32_t>(depth));
  if (!resized) return refused(cq->context, resized.error());
  cq->cqe = depth;
  return 0;
}

int ibv_destroy_cq(ibv_cq* cq) VERBS_NOEXCEPT {
  if (const int error = check_live(cq); error != 0) return fail(error);
  VerbsCq& mine = ours(cq);
  const auto gone =
      Session(*mine.adapter, mine.shard, Session::For::kObjects)->destroy_cq(mine.handle);
  if (!gone) return refused(cq->context, gone.error());
  mine.adapter->unplace(mine.shard);
  remove_live(cq);
  if (ibv_comp_channel* channel = cq->channel; channel != nullptr) {
    ours(channel).events.forget([&](const VerbsCq* with_event) { return with_event == &mine; });
    ::pthread_mutex_lock(&channel->context->mutex);
    --channel->refcnt;
    ::pthread_mutex_unlock(&channel->context->mutex);
  }
  ours(cq->context).async.forget([&](const AsyncEvent& event) { return event.element == &mine; });
  wait_for_acks(mine);
  ::pthread_mutex_destroy(&mine.ex.mutex);
  ::pthread_cond_destroy(&mine.ex.cond);
  free_later(mine);
  return 0;
}

}  // extern "C"
