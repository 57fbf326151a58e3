// The parameters of a connection, drawn from a seed.
#pragma once

#include <cstdint>

#include "base/prng.h"
#include "base/rate.h"
#include "nic/attributes.h"
#include "tests/dst/network.h"

namespace nerve::dst {

struct Terms {
  nic::QpType type{nic::QpType::kRc};  // kXrcSend stands for an XRC pair
  nic::Mtu mtu{nic::Mtu::k1024};
  nic::QpCaps caps{.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4};
  std::uint8_t read_depth{4};
  std::uint8_t timeout{10};
  std::uint8_t retry_count{7};
  std::uint8_t rnr_retry{7};
  std::uint8_t rnr_timer{1};
  bool signal_all{};
  bool shared_receives{};
  bool common_receives{};  // shared with other connections of the host, where it has such a queue
  bool late_receives{};
  std::uint32_t receive_capacity{1024};
  std::uint32_t largest_message{4096};
  std::uint32_t signaled_per_mille{700};
  Rate rate_limit{};  // RC; zero: none
  // The chance that a request is built to fail, and other deliberate errors.
  std::uint32_t bad_request_per_mille{};
  std::uint32_t bad_receive_per_mille{};
  std::uint32_t disturbance_per_mille{};  // per life: ERR, RESET or destruction with requests in
                                          // flight
  bool regions_vanish{};                  // ... or deregistration of a region that is in use
  bool window_atomics{};
  bool neglects_cq{};              // one CQ of one end is too small and not polled for a while
  std::uint32_t send_per_mille{};  // the chance of a SEND in addition to that of any other
                                   // operation
  bool wraps{};                    // PSNs wrap during the first requests, which are long
};

[[nodiscard]] Terms draw_terms(Prng& prng, const Faults& faults, bool large);
[[nodiscard]] nic::Mtu draw_mtu(Prng& prng);
[[nodiscard]] Psn draw_psn(Prng& prng);

}  // namespace nerve::dst
