// Extended polling: one completion at a time, and a reader for each of its fields.
#include <time.h>

#include <cerrno>
#include <chrono>
#include <span>

#include "verbs/cq.h"

namespace nerve::verbs {
namespace {

// A post that sends at once uses the time of the last poll, so its completions may have slightly
// earlier timestamps than previous ones. Within a CQ timestamps must not decrease.
void keep_order_of_time(VerbsCq& cq) {
  constexpr auto kLittle = std::chrono::seconds{1};
  const Duration behind = cq.newest - cq.current.at;
  if (behind > Duration{} && behind < kLittle) cq.current.at = cq.newest;
  cq.newest = cq.current.at;
}

// Returns 0 and the next completion, or ENOENT.
int take_next(VerbsCq& cq) {
  Session session{*cq.adapter, cq.shard, Session::For::kWork};
  const bool was_empty = cq.empty();
  if (was_empty && !cq.drive(session)) return ENOENT;
  const auto got = session->poll_cq(cq.handle, {&cq.current, 1});
  if (!got) return EINVAL;
  if (!was_empty) session.polled();
  if (cq.current.status == nic::WcStatus::kRetryExceeded) [[unlikely]]
    session.explain_no_answer(cq.current.qpn);
  keep_order_of_time(cq);
  cq.ex.wr_id = cq.current.wr_id;
  cq.ex.status = static_cast<ibv_wc_status>(cq.current.status);
  return 0;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) noexcept {
  VerbsCq& mine = ours(cq);
  if (attr->comp_mask != 0) return EINVAL;
  if (!mine.single_threaded) mine.polling.lock();
  const int result = take_next(mine);
  // An empty poll is not followed by end_poll.
  if (result != 0 && !mine.single_threaded) mine.polling.unlock();
  return result;
}

int next_poll(ibv_cq_ex* cq) noexcept { return take_next(ours(cq)); }

void end_poll(ibv_cq_ex* cq) noexcept {
  if (!ours(cq).single_threaded) ours(cq).polling.unlock();
}

const nic::Completion& current(ibv_cq_ex* cq) { return ours(cq).current; }

ibv_wc_opcode read_opcode(ibv_cq_ex* cq) noexcept { return opcode_of(current(cq).opcode); }
std::uint32_t read_vendor_err(ibv_cq_ex* /*cq*/) noexcept { return 0; }
std::uint32_t read_byte_len(ibv_cq_ex* cq) noexcept { return current(cq).bytes; }
__be32 read_imm_data(ibv_cq_ex* cq) noexcept { return immediate_of(current(cq)); }
std::uint32_t read_qp_num(ibv_cq_ex* cq) noexcept { return current(cq).qpn.value(); }
std::uint32_t read_src_qp(ibv_cq_ex* cq) noexcept { return current(cq).source_qpn.value(); }
unsigned read_wc_flags(ibv_cq_ex* cq) noexcept { return flags_of(current(cq).flags); }
std::uint32_t read_slid(ibv_cq_ex* /*cq*/) noexcept { return 0; }
std::uint8_t read_sl(ibv_cq_ex* cq) noexcept { return current(cq).service_level; }
std::uint8_t read_dlid_path_bits(ibv_cq_ex* /*cq*/) noexcept { return 0; }

std::chrono::nanoseconds time_by(clockid_t clock) {
  timespec at{};
  ::clock_gettime(clock, &at);
  return std::chrono::seconds{at.tv_sec} + std::chrono::nanoseconds{at.tv_nsec};
}

// When the completion was generated. The engine's time wraps after 213 days, but the age of a
// completion does not.
std::chrono::nanoseconds monotonic_time(const nic::Completion& completion) {
  const std::chrono::nanoseconds now = time_by(CLOCK_MONOTONIC);
  const Duration age = Time{Duration{now.count() * std::int64_t{1000}}} - completion.at;
  return now - std::chrono::floor<std::chrono::nanoseconds>(age);
}

std::uint64_t read_completion_ts(ibv_cq_ex* cq) noexcept {
  return static_cast<std::uint64_t>(monotonic_time(current(cq)).count());
}

// The offset of the wall clock from the monotonic clock. The two cannot be read at the same
// instant, so it is known only to within the time between two readings of the latter.
struct Ahead {
  std::chrono::nanoseconds least, most;
};

Ahead compare_clocks() {
  const auto before = time_by(CLOCK_MONOTONIC);
  const auto wall = time_by(CLOCK_REALTIME);
  const auto after = time_by(CLOCK_MONOTONIC);
  return {.least = wall - after, .most = wall - before};
}

// The kernel slews both clocks together, so the offset changes only when the wall clock is set. It
// is measured once for each CQ, because the error of another measurement could make timestamps go
// backwards, and again when the clock was set.
std::chrono::nanoseconds wall_clock_ahead(VerbsCq& cq) {
  constexpr auto kWasSet = std::chrono::milliseconds{1};
  constexpr int kAttempts = 8;  // the thread may be preempted between two readings
  Ahead now = compare_clocks();
  const bool holds = cq.wall_clock_ahead >= now.least - kWasSet &&  //
                     cq.wall_clock_ahead <= now.most + kWasSet;
  if (holds) return cq.wall_clock_ahead;
  for (int i = 1; i < kAttempts; ++i) {
    const Ahead again = compare_clocks();
    if (again.most - again.least < now.most - now.least) now = again;
  }
  return cq.wall_clock_ahead = now.least;  // so that no completion is in the future
}

std::uint64_t read_completion_wallclock_ns(ibv_cq_ex* cq) noexcept {
  const auto at = monotonic_time(current(cq)) + wall_clock_ahead(ours(cq));
  return static_cast<std::uint64_t>(at.count());
}

}  // namespace

void set_readers(ibv_cq_ex& cq, std::uint64_t wc_flags) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = read_opcode;
  cq.read_vendor_err = read_vendor_err;
  cq.read_wc_flags = read_wc_flags;
  if ((wc_flags & IBV_WC_EX_WITH_BYTE_LEN) != 0) cq.read_byte_len = read_byte_len;
  if ((wc_flags & IBV_WC_EX_WITH_IMM) != 0) cq.read_imm_data = read_imm_data;
  if ((wc_flags & IBV_WC_EX_WITH_QP_NUM) != 0) cq.read_qp_num = read_qp_num;
  if ((wc_flags & IBV_WC_EX_WITH_SRC_QP) != 0) cq.read_src_qp = read_src_qp;
  if ((wc_flags & IBV_WC_EX_WITH_SLID) != 0) cq.read_slid = read_slid;
  if ((wc_flags & IBV_WC_EX_WITH_SL) != 0) cq.read_sl = read_sl;
  if ((wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS) != 0) cq.read_dlid_path_bits = read_dlid_path_bits;
  if ((wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0) {
    cq.read_completion_ts = read_completion_ts;
  }
  if ((wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0) {
    cq.read_completion_wallclock_ns = read_completion_wallclock_ns;
  }
}

}  // namespace nerve::verbs
