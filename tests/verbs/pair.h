// Two connected queue pairs of one process, using only the public verbs: the view of a program,
// without any of Nerve's own headers.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <vector>

namespace verbs_test {

inline constexpr int kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  IBV_ACCESS_MW_BIND;

// An open device with a PD. Every machine has one, if only on its loopback interface.
class Device : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  ibv_context* context{};
  ibv_pd* pd{};
};

struct End {
  ibv_cq* cq{};
  ibv_qp* qp{};
  std::array<std::uint64_t, 512> memory{};
  ibv_mr* mr{};
  ibv_mtu path_mtu{IBV_MTU_1024};
  std::uint8_t timeout{14};

  [[nodiscard]] std::uint64_t at(std::size_t word = 0) const {
    return reinterpret_cast<std::uint64_t>(&memory[word]);
  }
  [[nodiscard]] ibv_sge sge(std::uint32_t length, std::size_t word = 0) const {
    return {at(word), length, mr->lkey};
  }
};

class Pair : public Device {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Overridden by tests that need another CQ; called before SetUp() of the base.
  virtual ibv_cq* make_cq(int depth) { return ibv_create_cq(context, depth, nullptr, nullptr, 0); }
  virtual ibv_qp* make_qp(End& end);

  void connect(End& end, const End& peer);
  int post_recv(End& end, std::uint64_t wr_id, ibv_sge* list, int count);
  // Polls until there is a completion; fails the test if none comes.
  ibv_wc completion(End& end);
  ibv_wc good_completion(End& end);

  End a, b;
  std::uint32_t psn{};
};

}  // namespace verbs_test
