#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "tests/golden/replay_engine.h"
#include "wire/syndrome.h"

namespace nerve::golden {

using wire::HeaderSet;
using wire::Operation;

namespace {

struct Region {
  std::uint64_t base{};
  std::uint64_t size{};
};

// The range that a request reads or writes; empty for a SEND.
Region target_of(const CapturedFrame& frame) {
  const wire::OpcodeInfo& info = *wire::find_opcode(frame.headers.bth.opcode);
  if (contains(info.headers, HeaderSet::kReth)) {
    return {frame.headers.reth.address, frame.headers.reth.length};
  }
  if (contains(info.headers, HeaderSet::kAtomicEth)) return {frame.headers.atomic.address, 8};
  return {};
}

Region region_of(const Conversation& conversation) {
  std::uint64_t low = ~std::uint64_t{0};
  std::uint64_t high = 0;
  for (const CapturedFrame& frame : conversation.frames) {
    const Region target = target_of(frame);
    if (!frame.request || target.size == 0) continue;
    low = std::min(low, target.base);
    high = std::max(high, target.base + target.size);
  }
  if (high == 0) return {0x1000, 0x1000};
  // Keep the alignment that atomics need.
  return {low & ~std::uint64_t{7}, high - (low & ~std::uint64_t{7})};
}

bool takes_receive(const CapturedFrame& frame) {
  const Operation operation = wire::operation_of(frame.headers.bth.opcode);
  return operation == Operation::kSendFirst || operation == Operation::kSendOnly ||
         operation == Operation::kSendOnlyImm || operation == Operation::kSendOnlyInvalidate ||
         operation == Operation::kWriteLastImm || operation == Operation::kWriteOnlyImm;
}

// Whether the responder's next answer to this packet is an RNR NAK.
bool refused_for_now(const Conversation& conversation, std::size_t index) {
  const Psn psn = conversation.frames[index].headers.bth.psn;
  for (std::size_t i = index + 1; i < conversation.frames.size(); ++i) {
    const CapturedFrame& frame = conversation.frames[i];
    if (frame.request && frame.headers.bth.psn == psn) return false;
    if (frame.request || frame.headers.bth.psn != psn) continue;
    return wire::kind_of(frame.headers.aeth.syndrome) == wire::AckKind::kRnrNak;
  }
  return false;
}

std::uint8_t rnr_timer_of(const Conversation& conversation) {
  for (const CapturedFrame& frame : conversation.frames) {
    const std::uint8_t syndrome = frame.headers.aeth.syndrome;
    if (!frame.request && wire::kind_of(syndrome) == wire::AckKind::kRnrNak) {
      return wire::value_of(syndrome);
    }
  }
  return 0;
}

// Stores the captured responder's data in memory.
void prepare_memory(ReplayEngine& engine, const Conversation& c, std::size_t index) {
  const CapturedFrame& request = c.frames[index];
  const Operation operation = wire::operation_of(request.headers.bth.opcode);
  const Region target = target_of(request);
  if (target.size == 0 || !engine.covers(target.base, target.size)) return;
  for (std::size_t i = index + 1; i < c.frames.size(); ++i) {
    const CapturedFrame& answer = c.frames[i];
    if (answer.request) continue;
    const std::int32_t into = answer.headers.bth.psn.distance_from(request.headers.bth.psn);
    if (operation == Operation::kReadRequest && !answer.payload.empty() && into >= 0) {
      const std::uint64_t offset = std::uint64_t{static_cast<std::uint32_t>(into)} * c.mtu;
      if (offset + answer.payload.size() > target.size) continue;
      std::memcpy(engine.at(target.base + offset), answer.payload.data(), answer.payload.size());
    }
    const bool atomic = operation == Operation::kFetchAdd || operation == Operation::kCompareSwap;
    if (atomic && into == 0 &&
        wire::operation_of(answer.headers.bth.opcode) == Operation::kAtomicAcknowledge) {
      std::memcpy(engine.at(target.base), &answer.headers.atomic_ack, 8);
      return;
    }
  }
}

}  // namespace

std::vector<CapturedFrame> replay_responder(const Conversation& c, Quirk quirk) {
  using nic::Access;
  Region region = region_of(c);
  if (quirk == Quirk::kShortRegion) region.size -= 1;
  const Access all = Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic;
  std::uint32_t mtu = c.mtu;
  if (quirk == Quirk::kSmallMtu) mtu = 256;
  if (quirk == Quirk::kLargeMtu) mtu = 1024;
  ReplayEngine engine{{.own = c.responder,
                       .peer = c.requester,
                       .qpn = c.responder_qpn,
                       .peer_qpn = c.requester_qpn,
                       .mtu = mtu,
                       .receives = c.frames.front().headers.bth.psn,
                       .sends = Psn{},
                       .access = quirk == Quirk::kNoRights ? Access::kNone : all,
                       .rnr_timer = rnr_timer_of(c)},
                      region.base,
                      region.size};
  std::vector<CapturedFrame> answers;
  std::set<std::uint32_t> given;  // PSNs of messages whose receive was posted
  std::optional<Psn> refused;     // a message that waits for a receive, and blocks those behind it
  std::set<std::uint32_t> executed;
  for (std::size_t i = 0; i < c.frames.size(); ++i) {
    if (!c.frames[i].request) continue;
    CapturedFrame request = c.frames[i];
    const Psn psn = request.headers.bth.psn;
    const RKey key = engine.keys().rkey;
    const RKey used = quirk == Quirk::kBadKey ? RKey{key.value() ^ 0xff00U} : key;
    request.headers.reth.rkey = request.headers.atomic.rkey = used;
    // Once per request: the answer to a duplicate must not come from memory.
    if (executed.insert(psn.value()).second) prepare_memory(engine, c, i);
    if (takes_receive(request) && !given.contains(psn.value()) && (!refused || *refused == psn)) {
      if (refused_for_now(c, i)) {
        refused = psn;
      } else {
        refused.reset();
        given.insert(psn.value());
        engine.post_receive(quirk == Quirk::kShortReceive ? 64 : 1U << 16U);
      }
    }
    engine.feed(request);
    engine.collect(answers);
  }
  return answers;
}

}  // namespace nerve::golden
