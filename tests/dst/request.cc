#include "tests/dst/request.h"

namespace nerve::dst {

using nic::SendOp;
using nic::WcOpcode;
using nic::WcStatus;

WcOpcode completion_opcode(SendOp op) {
  switch (op) {
    case SendOp::kSend:
    case SendOp::kSendImm:
    case SendOp::kSendInvalidate:
      return WcOpcode::kSend;
    case SendOp::kWrite:
    case SendOp::kWriteImm:
      return WcOpcode::kWrite;
    case SendOp::kRead:
      return WcOpcode::kRead;
    case SendOp::kCompareSwap:
      return WcOpcode::kCompareSwap;
    case SendOp::kFetchAdd:
      return WcOpcode::kFetchAdd;
    case SendOp::kAtomicWrite:
      return WcOpcode::kAtomicWrite;
    case SendOp::kFlush:
      return WcOpcode::kFlush;
    case SendOp::kLocalInvalidate:
      return WcOpcode::kLocalInvalidate;
    case SendOp::kBindMw:
      return WcOpcode::kBindMw;
  }
  return WcOpcode::kSend;
}

const char* name_of(SendOp op) {
  static constexpr const char* kNames[] = {"SEND",         "SEND_IMM", "SEND_INV",  "WRITE",
                                           "WRITE_IMM",    "READ",     "CMP_SWP",   "FETCH_ADD",
                                           "ATOMIC_WRITE", "FLUSH",    "LOCAL_INV", "BIND_MW"};
  return kNames[static_cast<std::size_t>(op)];
}

const char* name_of(WcStatus status) {
  switch (status) {
    case WcStatus::kSuccess:
      return "success";
    case WcStatus::kLocalLength:
      return "local length error";
    case WcStatus::kLocalQpOperation:
      return "local qp operation error";
    case WcStatus::kLocalEecOperation:
      return "local eec operation error";
    case WcStatus::kLocalProtection:
      return "local protection error";
    case WcStatus::kFlushed:
      return "flushed";
    case WcStatus::kMwBind:
      return "window bind error";
    case WcStatus::kBadResponse:
      return "bad response";
    case WcStatus::kLocalAccess:
      return "local access error";
    case WcStatus::kRemoteInvalidRequest:
      return "remote invalid request";
    case WcStatus::kRemoteAccess:
      return "remote access error";
    case WcStatus::kRemoteOperation:
      return "remote operation error";
    case WcStatus::kRetryExceeded:
      return "retry exceeded";
    case WcStatus::kRnrRetryExceeded:
      return "rnr retry exceeded";
    case WcStatus::kFatal:
      return "fatal";
    case WcStatus::kGeneral:
      return "general error";
  }
  return "unknown status";
}

}  // namespace nerve::dst
