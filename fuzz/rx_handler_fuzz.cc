// Frames of a hostile peer at an engine with live QPs of every type. The ICRC is not checked, or no
// fuzzer would get past it. The engine must not crash, must stay within its memory (checked by the
// sanitizers), and must not send without end.
//
// The input is a list of frames, each: a byte that selects which fields to fill in (see below), a
// length byte, and bytes from the BTH on.
#include "fuzz/fuzz_input.h"
#include "fuzz/live_nic.h"
#include "wire/packet.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nerve;
  fuzz::Input input{data, size};
  fuzz::LiveNic live;
  for (std::size_t i = 0; i < fuzz::LiveNic::kTypes.size(); ++i) {
    live.bring_up(i);
    live.post_work(i);
  }
  Time now{Duration{1}};
  live.drain(now);
  const wire::Flow flow{.source = fuzz::LiveNic::peer(), .destination = fuzz::LiveNic::own()};
  while (!input.empty()) {
    const std::uint8_t help = input.byte();
    const Bytes body = input.take(input.byte() * 2U);
    std::vector<std::byte> bytes{body.begin(), body.end()};
    bytes.resize(bytes.size() + 4);  // the place of the ICRC
    if (const auto packet = wire::decode_udp_payload(flow, {}, bytes)) {
      wire::Piece piece;
      wire::Frame frame = packet->frame(piece);
      if ((help & 0x08U) == 0) {
        frame.headers.bth.dest_qp = live.nic().query_qp(live.qp(help & 7U))->qpn;
      }
      if ((help & 0x10U) == 0) {
        frame.headers.reth.rkey = frame.headers.atomic.rkey = live.keys().rkey;
      }
      if ((help & 0x20U) == 0) frame.headers.deth.qkey = 0x1111;
      if ((help & 0x40U) == 0) frame.headers.bth.psn = Psn{frame.headers.bth.psn.value() & 7U};
      live.nic().receive({&frame, 1}, now);
    }
    live.drain(now);
    now += std::chrono::microseconds{(help & 0x80U) != 0 ? 2000 : 1};
    live.nic().expire(now);
    live.drain(now);
  }
  return 0;
}
