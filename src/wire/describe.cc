#include "wire/describe.h"

#include <charconv>
#include <string_view>

#include "wire/mad_peek.h"
#include "wire/selective_nak.h"
#include "wire/syndrome.h"

namespace nerve::wire {
namespace {

// Builds a line of words and numbers.
class Line {
 public:
  Line& text(std::string_view words) {
    text_ += words;
    return *this;
  }
  Line& number(std::uint64_t value) { return digits(value, 10, 0); }
  Line& hex(std::uint64_t value, std::size_t width = 0) {
    text_ += "0x";
    return digits(value, 16, width);
  }
  Line& flag(bool set, std::string_view name) { return set ? text(name) : *this; }
  std::string take() { return std::move(text_); }

 private:
  Line& digits(std::uint64_t value, int base, std::size_t width) {
    char buffer[24];
    const char* end = std::to_chars(std::begin(buffer), std::end(buffer), value, base).ptr;
    const auto length = static_cast<std::size_t>(end - buffer);
    if (length < width) text_.append(width - length, '0');
    text_.append(buffer, length);
    return *this;
  }
  std::string text_;
};

const char* nak_name(std::uint8_t code) {
  switch (static_cast<NakCode>(code)) {
    case NakCode::kSequence:
      return "psn sequence";
    case NakCode::kInvalidRequest:
      return "invalid request";
    case NakCode::kRemoteAccess:
      return "remote access";
    case NakCode::kRemoteOperation:
      return "remote operation";
    case NakCode::kInvalidRdRequest:
      return "invalid rd request";
    case NakCode::kSelective:
      return "selective";
    case NakCode::kSelectiveRun:
      return "selective run";
    case NakCode::kTrimmed:
      return "trimmed";
    case NakCode::kReceiverCredit:
      return "receiver credit";
  }
  return nullptr;
}

void describe_bth(const Bth& bth, Line& line) {
  const OpcodeInfo* info = find_opcode(bth.opcode);
  if (info != nullptr) {
    line.text(info->name);
  } else {
    line.text("opcode ").hex(bth.opcode, 2).text(" (unknown)");
  }
  line.text(" qp=").hex(bth.dest_qp.value(), 6).text(" psn=").hex(bth.psn.value(), 6);
  line.flag(bth.ack_request, " ack").flag(bth.solicited, " solicited");
  line.flag(bth.migrated, " migrated").flag(bth.fecn, " fecn").flag(bth.becn, " becn");
  if (bth.pkey != PKey{0xffff}) line.text(" pkey=").hex(bth.pkey.value(), 4);
  if (bth.pad != 0) line.text(" pad=").number(bth.pad);
  if (bth.version != 0) line.text(" version=").number(bth.version);
  if (bth.reserved6 != 0) line.text(" reserved6=").hex(bth.reserved6, 2);
  line.flag(is_selective_capable(bth), " selective");
  const auto reserved7 = static_cast<std::uint8_t>(bth.reserved7 & ~kSelectiveCapable);
  if (reserved7 != 0) line.text(" reserved7=").hex(reserved7, 2);
}

void describe_extended(const Headers& headers, HeaderSet set, Line& line) {
  using enum HeaderSet;
  if (contains(set, kDeth)) {
    line.text(" deth[qkey=").hex(headers.deth.qkey, 8);
    line.text(" src_qp=").hex(headers.deth.source_qp.value(), 6).text("]");
  }
  if (contains(set, kXrcEth)) line.text(" xrceth[srq=").hex(headers.xrc_srq, 6).text("]");
  if (contains(set, kFeth)) {
    line.text(" feth[").flag((headers.feth.placement & 1U) != 0, "visibility ");
    line.flag((headers.feth.placement & 2U) != 0, "persistence ");
    line.text("selectivity=").number(headers.feth.selectivity).text("]");
  }
  if (contains(set, kReth)) {
    line.text(" reth[va=").hex(headers.reth.address).text(" rkey=").hex(headers.reth.rkey.value());
    line.text(" len=").number(headers.reth.length).text("]");
  }
  if (contains(set, kAtomicEth)) {
    const AtomicEth& atomic = headers.atomic;
    const bool swap = operation_of(headers.bth.opcode) == Operation::kCompareSwap;
    line.text(" atomiceth[va=").hex(atomic.address).text(" rkey=").hex(atomic.rkey.value());
    line.text(swap ? " swap=" : " add=").hex(atomic.swap_or_add);
    if (swap) line.text(" compare=").hex(atomic.compare);
    line.text("]");
  }
  if (contains(set, kAeth)) {
    line.text(" aeth[").text(describe_syndrome(headers.aeth.syndrome));
    if (const auto arrived = arrived_out_of_order(headers.bth.psn, headers.aeth)) {
      line.text(", arrived=").hex(arrived->first.value(), 6);
      if (arrived->count > 1) line.text(" and ").number(arrived->count - 1).text(" more");
      line.text("]");
    } else {
      line.text(", msn=").number(headers.aeth.msn).text("]");
    }
  }
  if (contains(set, kAtomicAckEth)) line.text(" original=").hex(headers.atomic_ack);
  if (contains(set, kImmDt)) line.text(" imm=").hex(headers.immediate, 8);
  if (contains(set, kIeth)) line.text(" invalidate=").hex(headers.invalidate.value());
}

void describe_mad(const MadPeek& mad, Line& line) {
  const bool cm = mad.management_class == MadPeek::kCmClass;
  line.text(" mad[");
  if (cm) {
    line.text("cm");
  } else {
    line.text("class=").hex(mad.management_class, 2);
  }
  line.text(" method=").hex(mad.method, 2).text(" attribute=").hex(mad.attribute, 4);
  const char* name = cm ? cm_attribute_name(mad.attribute) : nullptr;
  if (name != nullptr) line.text(" ").text(name);
  line.text(" tid=").hex(mad.transaction).text("]");
}

}  // namespace

std::string describe_syndrome(std::uint8_t byte) {
  Line line;
  const std::uint8_t value = value_of(byte);
  switch (kind_of(byte)) {
    case AckKind::kAck: {
      const auto credits = credits_of(value);
      line.text("ack, credits=");
      if (credits) {
        line.number(*credits);
      } else {
        line.text("unknown");
      }
      break;
    }
    case AckKind::kRnrNak: {
      const auto us = std::chrono::duration_cast<std::chrono::microseconds>(rnr_delay(value));
      line.text("rnr nak, wait=").number(static_cast<std::uint64_t>(us.count())).text("us");
      break;
    }
    case AckKind::kNak:
      line.text("nak ");
      if (const char* name = nak_name(value)) {
        line.text(name);
      } else {
        line.number(value);
      }
      break;
    case AckKind::kReserved:
      line.text("reserved ").hex(byte, 2);
      break;
  }
  // The top bit is reserved and belongs to neither field.
  if ((byte & 0x80U) != 0) line.text(" (upper bit set)");
  return line.take();
}

const char* cm_attribute_name(std::uint16_t attribute) {
  constexpr std::uint16_t kFirst = 0x0010;
  constexpr const char* kNames[] = {"REQ",  "MRA",      "REJ",      "REP", "RTU", "DREQ",
                                    "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"};
  const unsigned index = attribute - unsigned{kFirst};
  return index < std::size(kNames) ? kNames[index] : nullptr;
}

std::string describe(const Headers& headers, std::uint32_t payload_length, Bytes payload) {
  Line line;
  describe_bth(headers.bth, line);
  if (const OpcodeInfo* info = find_opcode(headers.bth.opcode)) {
    describe_extended(headers, info->headers, line);
  }
  line.text(" payload=").number(payload_length);
  if (const auto mad = peek_mad(headers, payload)) describe_mad(*mad, line);
  return line.take();
}

std::string describe(const Packet& packet) {
  return describe(packet.headers, static_cast<std::uint32_t>(packet.payload.size()),
                  packet.payload);
}

}  // namespace nerve::wire
