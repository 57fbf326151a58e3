// Completion queues of Objects.
#include <algorithm>
#include <cerrno>

#include "tests/bad_days/worlds/objects.h"
#include "tests/bad_days/worlds/verdict.h"

namespace worlds {

ibv_cq* Objects::create_cq(std::size_t entries) {
  ibv_cq* cq = nullptr;
  if (world_.sides[side_].extended_cqs) {
    ibv_cq_init_attr_ex init{};
    init.cqe = static_cast<std::uint32_t>(entries);
    init.channel = channel_;
    init.wc_flags = IBV_WC_STANDARD_FLAGS;
    ibv_cq_ex* const extended = ibv_create_cq_ex(context_, &init);
    must(extended != nullptr, "ibv_create_cq_ex");
    cq = ibv_cq_ex_to_cq(extended);
  } else {
    cq = ibv_create_cq(context_, static_cast<int>(entries), nullptr, channel_, 0);
    must(cq != nullptr, "ibv_create_cq");
  }
  const SidePlan& plan = world_.sides[side_];
  if (plan.moderation_count > 0) {
    ibv_modify_cq_attr attr{};
    attr.attr_mask = IBV_CQ_ATTR_MODERATE;
    attr.moderate = {.cq_count = plan.moderation_count, .cq_period = plan.moderation_us};
    must((errno = ibv_modify_cq(cq, &attr)) == 0, "ibv_modify_cq");
  }
  cqs_.push_back(cq);
  cq_sizes_.push_back(entries);
  return cq;
}

// Just large enough for what can be outstanding.
void Objects::create_cqs() {
  if (world_.sides[side_].cqs != CqLayout::kOne) return;
  std::size_t entries = world_.sides[side_].shared.depth + kMostQps;
  for (const QpPlan& qp : world_.qps) entries += qp.depth + qp.ends[side_].receives.depth;
  (void)create_cq(entries);
}

void Objects::resize_cq(std::size_t cq, std::size_t more) {
  errno = ibv_resize_cq(cqs_[cq], static_cast<int>(cq_sizes_[cq] + more));
  must(errno == 0, "ibv_resize_cq");
}

std::size_t Objects::poll(std::size_t cq, std::span<ibv_wc> found) {
  if (world_.sides[side_].extended_cqs) {
    return poll_extended(reinterpret_cast<ibv_cq_ex*>(cqs_[cq]), found);
  }
  const int count = ibv_poll_cq(cqs_[cq], static_cast<int>(found.size()), found.data());
  if (count < 0) violation("ibv_poll_cq failed");
  return static_cast<std::size_t>(count);
}

std::size_t Objects::poll_extended(ibv_cq_ex* cq, std::span<ibv_wc> found) {
  ibv_poll_cq_attr none{};
  int status = ibv_start_poll(cq, &none);
  if (status == ENOENT) return 0;
  std::size_t count = 0;
  while (status == 0) {
    ibv_wc& wc = found[count++] = {};
    wc.wr_id = cq->wr_id;
    wc.status = cq->status;
    wc.qp_num = ibv_wc_read_qp_num(cq);
    if (wc.status == IBV_WC_SUCCESS) {
      wc.opcode = ibv_wc_read_opcode(cq);
      wc.wc_flags = ibv_wc_read_wc_flags(cq);
      wc.byte_len = ibv_wc_read_byte_len(cq);
      wc.src_qp = ibv_wc_read_src_qp(cq);
      if ((wc.wc_flags & IBV_WC_WITH_INV) != 0) {
        wc.invalidated_rkey = ibv_wc_read_invalidated_rkey(cq);
      } else {
        wc.imm_data = ibv_wc_read_imm_data(cq);
      }
    }
    status = count < found.size() ? ibv_next_poll(cq) : ENOENT;
  }
  ibv_end_poll(cq);
  if (status != ENOENT) violation("ibv_start_poll or ibv_next_poll failed");
  return count;
}

}  // namespace worlds
