// Control calls in any order with any attributes, on an existing QP. Each must fail or succeed
// without a crash, and query_qp must return the state that was set.
#include "fuzz/fuzz_input.h"
#include "fuzz/live_nic.h"

namespace nerve::fuzz {
namespace {

nic::QpAttributes draw_attributes(Input& input) {
  nic::QpAttributes a;
  a.pkey_index = input.byte();
  a.port = input.byte();
  a.access = static_cast<nic::Access>(input.number(2));
  a.qkey = static_cast<std::uint32_t>(input.number(4));
  a.path.destination = LiveNic::peer();
  a.path.source_gid_index = input.byte();
  constexpr nic::Mtu kMtus[] = {nic::Mtu::k256, nic::Mtu::k4096, static_cast<nic::Mtu>(0),
                                static_cast<nic::Mtu>(777)};
  a.path_mtu = kMtus[input.byte() % 4U];
  a.dest_qp = Qpn{static_cast<std::uint32_t>(input.number(3))};
  a.rq_psn = a.sq_psn = Psn{static_cast<std::uint32_t>(input.number(3))};
  a.max_dest_read = input.byte();
  a.max_read = input.byte();
  a.min_rnr_timer = input.byte();
  a.timeout = input.byte();
  a.retry_count = input.byte();
  a.rnr_retry = input.byte();
  a.sqd_notify = (input.byte() & 1U) != 0;
  a.cur_state = static_cast<nic::QpState>(input.byte() % 7U);
  return a;
}

}  // namespace
}  // namespace nerve::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nerve;
  fuzz::Input input{data, size};
  fuzz::LiveNic live;
  Time now{Duration{1}};
  while (!input.empty()) {
    const std::uint8_t what = input.byte();
    const std::size_t which = what & 7U;
    switch (what >> 4U) {
      case 0: {  // straight to RTS, if it is still in RESET
        const auto query = live.nic().query_qp(live.qp(which));
        if (query && query->state == nic::QpState::kReset) live.bring_up(which);
        break;
      }
      case 1:
        live.post_work(which);
        break;
      case 2:
        now += std::chrono::microseconds{1000};
        break;
      case 3:
        (void)live.nic().destroy_qp(live.qp(which));
        break;
      case 4:
        live.nic().set_port_active((what & 8U) != 0);
        break;
      default: {
        const auto to = static_cast<nic::QpState>(input.byte() % 7U);
        const auto given = static_cast<nic::QpAttrs>(input.number(3) & 0x1f'ffffU);
        const nic::QpAttributes a = fuzz::draw_attributes(input);
        if (live.nic().modify_qp(live.qp(which), to, given, a)) {
          const nic::QpState state = live.nic().query_qp(live.qp(which))->state;
          CHECK(state == to || state == nic::QpState::kErr);
        }
      }
    }
    live.drain(now);
    live.nic().expire(now);
    live.drain(now);
  }
  return 0;
}
