#include "link/tap/fault_tap.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/siphash.h"
#include "wire/packet.h"

namespace nerve::link {
namespace {

// One for each random decision, so that the decisions are independent of each other.
enum class Question : std::uint64_t {
  kLoss = 1,
  kDuplicate,
  kDuplicateBehind,
  kReorder,
  kReorderBehind,
  kCorrupt,
  kCorruptBit,
  kMark,
  kDelay,
  kDelayTime,
};

// The random decisions for the nth packet of a QP under one rule.
class Luck {
 public:
  Luck(std::uint64_t seed, std::size_t rule, std::size_t qp, std::uint64_t n)
      : seed_{seed}, rule_{rule}, word_{std::uint64_t{qp} << 44U | (n & kPackets)} {}

  [[nodiscard]] std::uint64_t draw(Question question) const {
    return siphash({seed_, std::uint64_t{rule_} << 8U | static_cast<std::uint64_t>(question)},
                   word_);
  }
  [[nodiscard]] bool strikes(Probability chance, Question question) const {
    return chance.parts > 0 && draw(question) % Probability::kCertain < chance.parts;
  }

 private:
  static constexpr std::uint64_t kPackets = (std::uint64_t{1} << 44U) - 1;
  static_assert(FaultTap::kMaxQps <= std::size_t{1} << 20U);
  std::uint64_t seed_;
  std::size_t rule_;
  std::uint64_t word_;
};

// How many packets overtake a reordered packet, and a duplicate, which may also follow at once.
std::uint32_t one_to_three(std::uint64_t draw) { return 1 + static_cast<std::uint32_t>(draw % 3); }
std::uint32_t up_to_three(std::uint64_t draw) { return static_cast<std::uint32_t>(draw % 4); }

// Flips any bit except those of the BTH's fifth byte: that one is variant, so the ICRC does not
// cover it, and the damage would go unnoticed.
void flip_a_bit(MutableBytes bytes, std::uint64_t draw) {
  constexpr std::size_t kUncovered = 4;
  std::size_t at = draw / 8 % (bytes.size() - 1);
  if (at >= kUncovered) ++at;
  bytes[at] ^= static_cast<std::byte>(1U << (draw % 8));
}

}  // namespace

std::size_t FaultTap::QpHash::operator()(const QpKey& key) const {
  std::array<std::uint64_t, 4> words{};
  std::memcpy(words.data(), key.source.bytes.data(), 16);
  std::memcpy(words.data() + 2, key.destination.bytes.data(), 16);
  const SipKey mixed{words[0] ^ words[2], words[1] ^ words[3]};
  return static_cast<std::size_t>(siphash(mixed, key.qpn.value()));
}

void FaultTap::send(std::span<const wire::Frame> frames, Time now) {
  expire(now);
  bool before_passed = false;
  for (const wire::Frame& frame : frames) {
    const std::size_t qp = qp_of(frame);
    const std::size_t older = qps_[qp].waiting.size();
    const Verdict verdict = judge(frame, qp);
    const bool whole = verdict.leaves_now() && !verdict.marked && !verdict.lost;
    if (verdict.lost) {
      ++counters_.lost;
      if (on_loss_) on_loss_(frame, false);
    } else if (whole) {
      pass(frame, before_passed);
    } else {
      strike(frame, qp, verdict, now);
    }
    before_passed = whole;
    if (!verdict.lost && older > 0) let_pass(qp, older, now);
  }
  flush_passing(now);
}

void FaultTap::send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) {
  next_.send_bytes(flow, udp_payload, now);
}

std::optional<Time> FaultTap::next_deadline() const {
  if (held_.empty()) return std::nullopt;
  return held_.begin()->first.first;
}

void FaultTap::expire(Time now) {
  while (!held_.empty() && held_.begin()->first.first <= now) release(held_.begin()->first, now);
}

std::size_t FaultTap::qp_of(const wire::Frame& frame) {
  const QpKey key{.source = frame.flow.source,
                  .destination = frame.flow.destination,
                  .qpn = frame.headers.bth.dest_qp};
  if (const auto it = ordinals_.find(key); it != ordinals_.end()) return it->second;
  if (qps_.size() == kMaxQps) return kMaxQps - 1;
  qps_.push_back({.met = std::vector<std::uint64_t>(spec_.rules.size()), .waiting = {}});
  ordinals_.emplace(key, qps_.size() - 1);
  return qps_.size() - 1;
}

FaultTap::Verdict FaultTap::judge(const wire::Frame& frame, std::size_t qp) {
  ++counters_.seen;
  const wire::Bth& bth = frame.headers.bth;
  Verdict verdict;
  for (std::size_t i = 0; i < spec_.rules.size(); ++i) {
    const FaultRule& rule = spec_.rules[i];
    if (!rule.opcodes.test(bth.opcode) || (rule.qpn && *rule.qpn != bth.dest_qp)) continue;
    const std::uint64_t n = ++qps_[qp].met[i];
    for (const FaultDrop& drop : rule.drops) {
      verdict.lost |= n == drop.nth && (!drop.qpn || *drop.qpn == bth.dest_qp);
    }
    apply_rule(i, qp, n, verdict);
  }
  return verdict;
}

void FaultTap::apply_rule(std::size_t index, std::size_t qp, std::uint64_t n, Verdict& verdict) {
  const FaultRule& rule = spec_.rules[index];
  const Luck luck{spec_.seed, index, qp, n};
  verdict.lost |= luck.strikes(rule.loss, Question::kLoss);
  verdict.marked |= luck.strikes(rule.mark, Question::kMark);
  if (luck.strikes(rule.duplicate, Question::kDuplicate)) {
    verdict.duplicates.push_back(up_to_three(luck.draw(Question::kDuplicateBehind)));
  }
  if (luck.strikes(rule.reorder, Question::kReorder)) {
    verdict.reordered = true;
    verdict.behind = std::max(verdict.behind, one_to_three(luck.draw(Question::kReorderBehind)));
  }
  if (luck.strikes(rule.corrupt, Question::kCorrupt)) {
    verdict.corrupt = luck.draw(Question::kCorruptBit) | std::uint64_t{1} << 63U;
  }
  if (luck.strikes(rule.delay.probability, Question::kDelay)) {
    const auto span = static_cast<std::uint64_t>((rule.delay.most - rule.delay.least).count());
    const std::uint64_t more = luck.draw(Question::kDelayTime) % (span + 1);
    verdict.delay += rule.delay.least + Duration{static_cast<std::int64_t>(more)};
  }
}

void FaultTap::strike(const wire::Frame& frame, std::size_t qp, const Verdict& verdict, Time now) {
  wire::Frame changed = frame;
  if (verdict.marked) {
    ++counters_.marked;
    changed.flow.set_ecn(wire::Ecn::kCongestion);
  }
  if (verdict.leaves_now()) return pass(changed, false);

  Held held{.flow = changed.flow, .bytes{}, .qp = qp};
  held.bytes.resize(wire::udp_payload_size(changed));
  wire::encode_udp_payload(changed, {}, held.bytes);
  if (verdict.corrupt != 0) {
    ++counters_.corrupted;
    if (on_loss_) on_loss_(frame, true);
    flip_a_bit(held.bytes, verdict.corrupt);
  }
  flush_passing(now);  // frames before it must leave before it
  leave(held, verdict, now);
  for (const std::uint32_t behind : verdict.duplicates) duplicate(held, behind, verdict, now);
}

void FaultTap::leave(const Held& held, const Verdict& verdict, Time now) {
  if (verdict.delay > Duration{}) {
    if (hold(held, now + verdict.delay, 0)) ++counters_.delayed;
  } else if (verdict.reordered) {
    if (hold(held, now + kPatience, verdict.behind)) ++counters_.reordered;
  } else {
    next_.send_bytes(held.flow, held.bytes, now);
  }
}

void FaultTap::duplicate(const Held& held, std::uint32_t behind, const Verdict& verdict, Time now) {
  if (verdict.delay > Duration{}) {
    if (!hold(held, now + verdict.delay, 0)) return;  // directly after the first
  } else if (behind > 0) {
    if (!hold(held, now + kPatience, behind)) return;
  } else {
    next_.send_bytes(held.flow, held.bytes, now);
  }
  ++counters_.duplicated;
}

bool FaultTap::hold(const Held& held, Time until, std::uint32_t behind) {
  if (held_bytes_ + held.bytes.size() > kMaxHeldBytes) {
    ++counters_.overflowed;
    return false;
  }
  const Due due{until, next_ticket_++};
  if (behind > 0) qps_[held.qp].waiting.push_back({.left = behind, .due = due});
  held_bytes_ += held.bytes.size();
  held_.emplace(due, held);
  return true;
}

// A packet of this QP was sent: counts down for the first `older` packets that were waiting for it.
void FaultTap::let_pass(std::size_t qp, std::size_t older, Time now) {
  std::vector<Due> free;
  for (Waiting& waiting : std::span{qps_[qp].waiting}.first(older)) {
    if (--waiting.left == 0) free.push_back(waiting.due);
  }
  for (const Due& due : free) release(due, now);
}

void FaultTap::release(Due due, Time now) {
  const auto node = held_.extract(due);
  const Held& held = node.mapped();
  held_bytes_ -= held.bytes.size();
  std::erase_if(qps_[held.qp].waiting, [&](const Waiting& one) { return one.due == due; });
  flush_passing(now);
  next_.send_bytes(held.flow, held.bytes, now);
}

// A frame continues its train only if its predecessor in the train is still directly before it.
void FaultTap::pass(const wire::Frame& frame, bool follows) {
  const bool heads = passing_.empty();
  passing_.push_back(frame);
  if (heads || !follows) passing_.back().continues_train = false;
}

void FaultTap::flush_passing(Time now) {
  if (passing_.empty()) return;
  next_.send(passing_, now);
  passing_.clear();
}

}  // namespace nerve::link
