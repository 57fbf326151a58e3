#include "host/diagnostics/trace_names.h"

#include <algorithm>
#include <array>

#include "nic/attributes.h"
#include "nic/qp_context/qp_trace.h"
#include "nic/work.h"
#include "wire/opcode.h"
#include "wire/syndrome.h"

namespace nerve::host {
namespace {

using nic::TraceStep;

enum Module : std::uint8_t {
  kVerbs = 1,
  kQpManager,
  kWqeEngine,
  kDmaEngine,
  kEthernet = 6,
  kRxHandler,
  kCqManager,
  kConnections,
  kLink,
};

constexpr std::array<TraceStepName, nic::kTraceSteps> kSteps{{
    {"none", 0, ""},
    {"register", kDmaEngine, "a memory region is registered"},
    {"deregister", kDmaEngine, "a memory region is deregistered"},
    {"create_qp", kQpManager, "a queue pair is created"},
    {"modify_qp", kQpManager, "the queue pair changes its state"},
    {"destroy_qp", kQpManager, "the queue pair is destroyed"},
    {"cm_send", kConnections, "a message of the connection manager is made"},
    {"cm_receive", kConnections, "a message of the connection manager is received"},
    {"post", kVerbs, "the program posts a work request"},
    {"post_receive", kVerbs, "the program posts a receive"},
    {"doorbell", kVerbs, "the engine is told of posted requests"},
    {"fetch", kWqeEngine, "the request is fetched from the send queue and gets its PSNs"},
    {"packet_made", kWqeEngine, "a packet is made"},
    {"packet_sent", kEthernet, "the packet is handed to the link"},
    {"packet_dropped", kLink, "fault injection drops the packet"},
    {"packet_received", kEthernet, "a packet arrives for the queue pair"},
    {"checked", kRxHandler, "headers, state, PSN and access rights are right"},
    {"refused", kRxHandler, "the packet is not accepted"},
    {"placed", kDmaEngine, "the payload is written to memory"},
    {"direct", kDmaEngine, "copied straight into or out of the peer's memory, without packets"},
    {"ack_sent", kRxHandler, "an ACK is made"},
    {"nak_sent", kRxHandler, "a NAK is made"},
    {"ack_received", kWqeEngine, "an ACK arrives for requests in flight"},
    {"nak_received", kWqeEngine, "a NAK arrives for requests in flight"},
    {"retransmit", kWqeEngine, "packets are to be sent again"},
    {"completion", kCqManager, "a completion is written to the CQ"},
    {"polled", kVerbs, "the program polls the completion"},
}};

constexpr std::string_view kStates[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
constexpr std::string_view kTypes[] = {"RC", "UC", "UD", "XRC send", "XRC receive", "GSI"};
constexpr std::string_view kCmMessages[] = {"REQ",  "MRA",  "REJ",      "REP",     "RTU",
                                            "DREQ", "DREP", "SIDR_REQ", "SIDR_REP"};
constexpr std::string_view kCauses[] = {"timeout", "NAK", "probe", "receiver not ready"};
constexpr std::string_view kRefusals[] = {"no receive posted: RNR NAK",
                                          "invalid request: NAK",
                                          "longer than the path MTU: NAK",
                                          "remote access error: NAK",
                                          "remote operational error: NAK",
                                          "longer than the receive",
                                          "dropped",
                                          "duplicate",
                                          "out of order: a packet is missing",
                                          "out of order: held until the missing packet arrives",
                                          "wrong transport: dropped",
                                          "the QP's state does not allow it: dropped",
                                          "not from the QP's peer: dropped",
                                          "wrong P_Key: dropped",
                                          "wrong Q_Key: dropped",
                                          "lost by fault injection",
                                          "corrupted by fault injection"};
constexpr std::string_view kSendOps[] = {"SEND",
                                         "SEND with immediate",
                                         "SEND with invalidate",
                                         "WRITE",
                                         "WRITE with immediate",
                                         "READ",
                                         "COMPARE and SWAP",
                                         "FETCH and ADD",
                                         "ATOMIC WRITE",
                                         "FLUSH",
                                         "LOCAL INVALIDATE",
                                         "BIND MW"};
constexpr std::string_view kWcOpcodes[] = {"SEND",
                                           "WRITE",
                                           "READ",
                                           "COMPARE and SWAP",
                                           "FETCH and ADD",
                                           "BIND MW",
                                           "LOCAL INVALIDATE",
                                           "ATOMIC WRITE",
                                           "FLUSH",
                                           "RECV",
                                           "RECV WRITE with immediate"};

template <std::size_t N>
std::string word(const std::string_view (&words)[N], unsigned index) {
  return index < N ? std::string{words[index]} : "?" + std::to_string(index);
}

std::string status_text(unsigned status) {
  using enum nic::WcStatus;
  switch (static_cast<nic::WcStatus>(status)) {
    case kSuccess:
      return "success";
    case kLocalLength:
      return "local length error";
    case kLocalQpOperation:
      return "local QP operation error";
    case kLocalEecOperation:
      return "local EEC operation error";
    case kLocalProtection:
      return "local protection error";
    case kFlushed:
      return "flushed";
    case kMwBind:
      return "memory window bind error";
    case kBadResponse:
      return "bad response";
    case kLocalAccess:
      return "local access error";
    case kRemoteInvalidRequest:
      return "remote invalid request error";
    case kRemoteAccess:
      return "remote access error";
    case kRemoteOperation:
      return "remote operation error";
    case kRetryExceeded:
      return "retries exceeded";
    case kRnrRetryExceeded:
      return "RNR retries exceeded";
    case kFatal:
      return "fatal error";
    case kGeneral:
      return "general error";
  }
  return "status " + std::to_string(status);
}

std::string syndrome_text(unsigned value) {
  const auto syndrome = static_cast<std::uint8_t>(value);
  switch (wire::kind_of(syndrome)) {
    case wire::AckKind::kAck:
      return "ACK";
    case wire::AckKind::kRnrNak:
      return "RNR NAK";
    case wire::AckKind::kReserved:
      return "reserved";
    case wire::AckKind::kNak:
      break;
  }
  using enum wire::NakCode;
  switch (static_cast<wire::NakCode>(wire::value_of(syndrome))) {
    case kSequence:
      return "NAK: sequence error";
    case kInvalidRequest:
      return "NAK: invalid request";
    case kRemoteAccess:
      return "NAK: remote access error";
    case kRemoteOperation:
      return "NAK: remote operational error";
    case kInvalidRdRequest:
      return "NAK: invalid RD request";
    case kSelective:
    case kSelectiveRun:
      return "selective NAK";
    case kTrimmed:
      return "trimmed packet";
    case kReceiverCredit:
      return "receiver credit";
  }
  return "NAK";
}

// "RC_SEND_ONLY" as "RC SEND Only".
std::string packet_text(std::uint8_t code) {
  const wire::OpcodeInfo* const info = wire::find_opcode(code);
  if (info == nullptr) return "opcode " + std::to_string(code);
  std::string text = info->name;
  std::ranges::replace(text, '_', ' ');
  for (const std::string_view position : {"FIRST", "MIDDLE", "LAST", "ONLY"}) {
    const std::size_t at = text.find(position);
    if (at == std::string::npos) continue;
    for (std::size_t i = at + 1; i < at + position.size(); ++i) {
      text[i] = static_cast<char>(text[i] + ('a' - 'A'));
    }
  }
  return text;
}

bool is_packet(TraceStep step) {
  return (step >= TraceStep::kPacketMade && step <= TraceStep::kPlaced) ||
         (step >= TraceStep::kAckSent && step <= TraceStep::kNakReceived);
}

bool is_request(TraceStep step) {
  return step == TraceStep::kPost || step == TraceStep::kDoorbell || step == TraceStep::kFetch ||
         step == TraceStep::kDirect;
}

bool is_completion(TraceStep step) {
  return step == TraceStep::kCompletion || step == TraceStep::kPolled;
}

}  // namespace

const TraceStepName& name_of(TraceStep step) { return kSteps[static_cast<std::size_t>(step)]; }

std::uint64_t short_trace_address(const wire::Gid& gid) { return nic::short_address(gid); }

std::string detail_text(std::uint16_t detail) {
  const unsigned value = detail & 0xffU;
  switch (static_cast<nic::TraceDetail>(detail >> 8U)) {
    case nic::TraceDetail::kNone:
      return {};
    case nic::TraceDetail::kQpState:
      return word(kStates, value);
    case nic::TraceDetail::kQpType:
      return word(kTypes, value);
    case nic::TraceDetail::kWcStatus:
      return status_text(value);
    case nic::TraceDetail::kCm:
      return word(kCmMessages, value);
    case nic::TraceDetail::kRefusal:
      return word(kRefusals, value);
    case nic::TraceDetail::kCause:
      return word(kCauses, value);
    case nic::TraceDetail::kSyndrome:
      return syndrome_text(value);
  }
  return "?" + std::to_string(detail);
}

std::string opcode_text(const nic::TraceRecord& record) {
  if (is_packet(record.step)) return packet_text(record.opcode);
  if (is_request(record.step)) return word(kSendOps, record.opcode);
  if (is_completion(record.step)) return word(kWcOpcodes, record.opcode);
  return {};
}

std::string operation_text(const nic::TraceRecord& record) {
  return is_completion(record.step) ? word(kWcOpcodes, record.opcode)
                                    : word(kSendOps, record.opcode);
}

std::string qp_type_text(std::uint16_t detail) { return word(kTypes, detail & 0xffU); }

bool is_receive(const nic::TraceRecord& record) {
  return is_completion(record.step) &&
         record.opcode >= static_cast<std::uint8_t>(nic::WcOpcode::kRecv);
}

bool is_response(const nic::TraceRecord& record) {
  const wire::OpcodeInfo* const info = wire::find_opcode(record.opcode);
  return info != nullptr && info->role == wire::Role::kResponse;
}

}  // namespace nerve::host
