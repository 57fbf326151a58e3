// The verbs objects of one side of a world.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/bad_days/worlds/control.h"
#include "tests/bad_days/worlds/plan.h"

namespace worlds {

class Objects {
 public:
  Objects(const World& world, std::size_t side, ibv_context* context, Bytes& memory);

  // What the peer needs to know of them.
  [[nodiscard]] const Card& card() const { return card_; }
  // Moves all QPs to RTS.
  void connect(const Card& peer);
  void destroy_qp(std::size_t index);
  void to_state(std::size_t index, ibv_qp_state state);
  // Destroys everything that is left; each call must succeed.
  void destroy();

  [[nodiscard]] ibv_qp* qp(std::size_t index) const { return qps_[index]; }
  [[nodiscard]] ibv_srq* srq() const { return srq_; }
  [[nodiscard]] ibv_ah* ah(std::size_t index) const { return ahs_[index]; }
  [[nodiscard]] const std::vector<ibv_cq*>& cqs() const { return cqs_; }
  // Polls one CQ with the calls that the plan specifies; as many completions as fit.
  [[nodiscard]] std::size_t poll(std::size_t cq, std::span<ibv_wc> found);
  // To at least its initial size.
  void resize_cq(std::size_t cq, std::size_t more);
  [[nodiscard]] ibv_comp_channel* channel() const { return channel_; }
  [[nodiscard]] ibv_mr* mr(Zone zone) const { return mrs_[static_cast<std::size_t>(zone)]; }
  // Deregisters a QP's own region: from now on the peer has no access to it.
  void deregister(std::size_t index);
  void take_rights(std::size_t index);
  [[nodiscard]] ibv_qp_state state_of(std::size_t index) const;
  [[nodiscard]] ibv_mw* window(std::size_t index) const { return windows_[index]; }
  // The address of a place in our memory, as used in requests.
  [[nodiscard]] std::uint64_t address(std::size_t at) const;
  [[nodiscard]] ibv_sge sge(const Piece& piece) const;
  [[nodiscard]] static Zone zone_of(std::size_t at);
  [[nodiscard]] ibv_context* context() const { return context_; }

 private:
  void register_memory(Bytes& memory);
  void create_cqs();
  [[nodiscard]] static std::size_t poll_extended(ibv_cq_ex* cq, std::span<ibv_wc> found);
  [[nodiscard]] ibv_cq* create_cq(std::size_t entries);
  void create_qp(std::size_t index);
  void connect_qp(std::size_t index, const Card& peer);

  const World& world_;
  std::size_t side_;
  ibv_context* context_;
  ibv_pd* pd_{};
  ibv_comp_channel* channel_{};
  ibv_srq* srq_{};
  std::array<ibv_mr*, kZones> mrs_{};
  std::vector<ibv_cq*> cqs_;
  std::vector<std::size_t> cq_sizes_;
  std::vector<ibv_qp*> qps_;
  std::vector<ibv_ah*> ahs_;
  std::vector<ibv_mw*> windows_;
  std::vector<ibv_mr*> regions_;  // of each QP that has one
  Card card_;
};

}  // namespace worlds
