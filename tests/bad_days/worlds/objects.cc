#include "tests/bad_days/worlds/objects.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "tests/bad_days/worlds/verdict.h"
#include "tests/verbs_ladder.h"

namespace worlds {
namespace {

constexpr int kAllRemote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE;
constexpr std::array<int, kZones> kAccess{IBV_ACCESS_REMOTE_READ, kAllRemote | IBV_ACCESS_MW_BIND,
                                          IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE};
constexpr std::uint32_t kQkey = 0x1234'5678;

}  // namespace

Objects::Objects(const World& world, std::size_t side, ibv_context* context, Bytes& memory)
    : world_{world},
      side_{side},
      context_{context},
      qps_(world.qps.size()),
      ahs_(world.qps.size()),
      windows_(world.windows.size()),
      regions_(world.qps.size()) {
  const SidePlan& plan = world.sides[side];
  pd_ = ibv_alloc_pd(context);
  must(pd_ != nullptr, "ibv_alloc_pd");
  register_memory(memory);
  if (plan.events) {
    channel_ = ibv_create_comp_channel(context);
    must(channel_ != nullptr, "ibv_create_comp_channel");
    must(::fcntl(channel_->fd, F_SETFL, O_NONBLOCK) == 0, "fcntl");
  }
  if (!plan.shared.receives.empty()) {
    ibv_srq_init_attr init{};
    // A QP that ends may keep the receive that it had begun to fill.
    init.attr.max_wr = plan.shared.depth + kMostQps;
    init.attr.max_sge = plan.shared.max_sge;
    srq_ = ibv_create_srq(pd_, &init);
    must(srq_ != nullptr, "ibv_create_srq");
  }
  create_cqs();
  for (std::size_t i = 0; i < qps_.size(); ++i) create_qp(i);
  for (std::size_t i = 0; i < kGids; ++i) {
    must(ibv_query_gid(context, 1, static_cast<int>(i), &card_.gids[i]) == 0, "ibv_query_gid");
  }
}

void Objects::register_memory(Bytes& memory) {
  constexpr std::uint64_t kFarAway = std::uint64_t{1} << 44U;
  for (std::size_t i = 0; i < kZones; ++i) {
    const Zone zone{static_cast<std::uint8_t>(i)};
    std::byte* const at = &memory[Memory::start(zone)];
    const auto address = reinterpret_cast<std::uint64_t>(at);
    const bool elsewhere = world_.sides[side_].other_iova;
    card_.addresses[i] = elsewhere ? address ^ kFarAway : address;
    mrs_[i] = elsewhere
                  ? ibv_reg_mr_iova(pd_, at, Memory::size(zone), card_.addresses[i],
                                    static_cast<unsigned>(kAccess[i]))
                  : ibv_reg_mr(pd_, at, Memory::size(zone), static_cast<unsigned>(kAccess[i]));
    must(mrs_[i] != nullptr, "ibv_reg_mr");
    card_.rkeys[i] = mrs_[i]->rkey;
  }
  if (world_.windows.size() > kMostWindows) violation("a world with too many windows");
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    if (world_.windows[i].side != side_) continue;
    const bool type_1 = world_.windows[i].type_1;
    windows_[i] = ibv_alloc_mw(pd_, type_1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
    must(windows_[i] != nullptr, "ibv_alloc_mw");
    card_.windows[i] = ibv_inc_rkey(windows_[i]->rkey);
  }
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const std::optional<Piece>& region = world_.qps[i].ends[side_].region;
    if (!region) continue;
    regions_[i] = ibv_reg_mr(pd_, &memory[region->at], region->length, kAllRemote);
    must(regions_[i] != nullptr, "ibv_reg_mr");
    card_.region_addresses[i] = reinterpret_cast<std::uint64_t>(&memory[region->at]);
    card_.region_rkeys[i] = regions_[i]->rkey;
  }
}

void Objects::create_qp(std::size_t index) {
  const QpPlan& plan = world_.qps[index];
  const EndPlan& end = plan.ends[side_];
  const bool shares = end.shared_receives && srq_ != nullptr;
  const std::size_t receives =
      shares ? world_.sides[side_].shared.depth + kMostQps : end.receives.depth;
  ibv_qp_init_attr_ex init{};
  switch (world_.sides[side_].cqs) {
    case CqLayout::kOne:
      init.send_cq = init.recv_cq = cqs_.front();
      break;
    case CqLayout::kOnePerQp:
      init.send_cq = init.recv_cq = create_cq(plan.depth + receives);
      break;
    case CqLayout::kOnePerQueue:
      init.send_cq = create_cq(plan.depth);
      init.recv_cq = create_cq(receives);
      break;
  }
  init.srq = shares ? srq_ : nullptr;
  init.cap = {.max_send_wr = plan.depth,
              .max_recv_wr = shares ? 0 : end.receives.depth,
              .max_send_sge = plan.max_sge,
              .max_recv_sge = shares ? 0 : end.receives.max_sge,
              .max_inline_data = plan.max_inline};
  init.qp_type = plan.type;
  init.sq_sig_all = plan.signal_all ? 1 : 0;
  init.comp_mask = IBV_QP_INIT_ATTR_PD;
  init.pd = pd_;
  if (plan.wr_calls) {
    init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    if (plan.type != IBV_QPT_UD) {
      init.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    }
    if (plan.reliable()) {
      init.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                             IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |
                             IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;
    }
  }
  qps_[index] = ibv_create_qp_ex(context_, &init);
  must(qps_[index] != nullptr, "ibv_create_qp_ex");
  card_.qpns[index] = qps_[index]->qp_num;
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qkey = kQkey;
  attr.qp_access_flags = kAllRemote;
  must(verbs_test::bring_qp_to(qps_[index], IBV_QPS_INIT, attr) == 0, "modify to init");
}

void Objects::connect(const Card& peer) {
  for (std::size_t i = 0; i < qps_.size(); ++i) connect_qp(i, peer);
}

void Objects::connect_qp(std::size_t index, const Card& peer) {
  const QpPlan& plan = world_.qps[index];
  const ibv_gid none{};
  // Without IPv6 there is one GID.
  const bool has = !std::equal(none.raw, none.raw + sizeof none.raw, peer.gids[plan.gid_index].raw);
  const std::size_t gid = has ? plan.gid_index : 0;
  ibv_qp_attr attr{};
  attr.path_mtu = plan.mtu;
  attr.dest_qp_num = peer.qpns[index];
  attr.rq_psn = plan.psn[1 - side_];
  attr.max_dest_rd_atomic = attr.max_rd_atomic = plan.read_depth;
  attr.min_rnr_timer = plan.rnr_timer;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.dgid = peer.gids[gid];
  attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid);
  attr.ah_attr.grh.hop_limit = 1;
  attr.sq_psn = plan.psn[side_];
  attr.timeout = plan.timeout;
  attr.retry_cnt = attr.rnr_retry = 7;
  must(verbs_test::bring_qp_to(qps_[index], IBV_QPS_RTS, attr) == 0, "modify to rts");
  if (plan.type != IBV_QPT_UD) return;
  ahs_[index] = ibv_create_ah(pd_, &attr.ah_attr);
  must(ahs_[index] != nullptr, "ibv_create_ah");
}

void Objects::to_state(std::size_t index, ibv_qp_state state) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  must((errno = ibv_modify_qp(qps_[index], &attr, IBV_QP_STATE)) == 0,
       "modify to err, reset, sqd or rts");
}

void Objects::destroy_qp(std::size_t index) {
  must((errno = ibv_destroy_qp(qps_[index])) == 0, "ibv_destroy_qp");
  qps_[index] = nullptr;
}

void Objects::deregister(std::size_t index) {
  must((errno = ibv_dereg_mr(regions_[index])) == 0, "ibv_dereg_mr");
  regions_[index] = nullptr;
}

void Objects::take_rights(std::size_t index) {
  errno = ibv_rereg_mr(regions_[index], IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                       IBV_ACCESS_LOCAL_WRITE);
  must(errno == 0, "ibv_rereg_mr");
}

ibv_qp_state Objects::state_of(std::size_t index) const {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  must((errno = ibv_query_qp(qps_[index], &attr, IBV_QP_STATE, &init)) == 0, "ibv_query_qp");
  return attr.qp_state;
}

void Objects::destroy() {
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    if (qps_[i] != nullptr) destroy_qp(i);
    if (ahs_[i] != nullptr) must((errno = ibv_destroy_ah(ahs_[i])) == 0, "ibv_destroy_ah");
  }
  if (srq_ != nullptr) must((errno = ibv_destroy_srq(srq_)) == 0, "ibv_destroy_srq");
  for (ibv_cq* cq : cqs_) must((errno = ibv_destroy_cq(cq)) == 0, "ibv_destroy_cq");
  for (ibv_mw* window : windows_) {
    if (window != nullptr) must((errno = ibv_dealloc_mw(window)) == 0, "ibv_dealloc_mw");
  }
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    if (regions_[i] != nullptr) deregister(i);
  }
  for (ibv_mr* mr : mrs_) must((errno = ibv_dereg_mr(mr)) == 0, "ibv_dereg_mr");
  if (channel_ != nullptr) {
    must((errno = ibv_destroy_comp_channel(channel_)) == 0, "ibv_destroy_comp_channel");
  }
  must((errno = ibv_dealloc_pd(pd_)) == 0, "ibv_dealloc_pd");
}

Zone Objects::zone_of(std::size_t at) {
  std::size_t zone = kZones - 1;
  while (at < Memory::start(Zone{static_cast<std::uint8_t>(zone)})) --zone;
  return Zone{static_cast<std::uint8_t>(zone)};
}

std::uint64_t Objects::address(std::size_t at) const {
  const Zone zone = zone_of(at);
  return card_.addresses[static_cast<std::size_t>(zone)] + (at - Memory::start(zone));
}

ibv_sge Objects::sge(const Piece& piece) const {
  return {.addr = address(piece.at),
          .length = static_cast<std::uint32_t>(piece.length),
          .lkey = mr(zone_of(piece.at))->lkey};
}

}  // namespace worlds
